// SPDX-License-Identifier: MIT
//
// Command-line options as a table: parsing, help and the man page's entries
// come from the same rows, so they cannot drift apart. A value may follow as
// --name=V, --name V, -xV or -x V. No abbreviations: a script that uses one
// would break with the next option.
#include "base/options.h"

#include <stdbool.h>
#include <string.h>

#include "base/help.h"

static const struct option_row *find_long(const struct option_row *rows, const char *name, size_t n)
{
	for (; rows->name; rows++)
		if (strlen(rows->name) == n && !memcmp(rows->name, name, n))
			return rows;
	return NULL;
}

static const struct option_row *find_letter(const struct option_row *rows, char letter)
{
	for (; rows->name; rows++)
		if (rows->letter && rows->letter == letter)
			return rows;
	return NULL;
}

// Reads the option in argv[*i]; *i moves on if the value is the next word.
static struct options_result read_one(const struct option_row *rows, void *settings, int argc,
				      char **argv, int *i)
{
	const char *word = argv[*i];
	bool is_long = word[1] == '-';
	const char *value = NULL;
	struct options_result r = { .at = word };
	if (is_long) {
		value = strchr(word, '=');
		r.row = find_long(rows, word + 2, value ? (size_t)(value - word - 2) : strlen(word + 2));
		value = value ? value + 1 : NULL;
	} else {
		r.row = find_letter(rows, word[1]);
		value = word[2] ? word + 2 : NULL;
	}
	if (!r.row) {
		r.error = OPTIONS_UNKNOWN;
	} else if (!r.row->value) {
		r.error = value ? OPTIONS_VALUE_NOT_TAKEN : OPTIONS_OK;
	} else if (!value) {
		if (*i + 1 < argc)
			value = argv[++*i];
		else
			r.error = OPTIONS_NO_VALUE;
	}
	if (!r.error && r.row->set(settings, value)) {
		r.error = OPTIONS_BAD_VALUE;
		r.at = value ? value : word;
	}
	return r;
}

struct options_result options_read(const struct option_row *rows, void *settings, int argc,
				   char **argv, int (*operand)(void *settings, const char *word))
{
	bool options = true;
	for (int i = 1; i < argc; i++) {
		struct options_result r = { .at = argv[i] };
		if (options && !strcmp(argv[i], "--"))
			options = false;
		else if (options && argv[i][0] == '-' && argv[i][1])
			r = read_one(rows, settings, argc, argv, &i);
		else if (operand(settings, argv[i]))
			r.error = OPTIONS_UNKNOWN;
		if (r.error)
			return r;
	}
	return (struct options_result){ OPTIONS_OK, NULL, NULL };
}

void options_say(const struct options_result *r, FILE *to)
{
	switch (r->error) {
	case OPTIONS_OK:
		break;
	case OPTIONS_UNKNOWN:
		if (r->at[0] == '-' && r->at[1])
			fprintf(to, "unknown option '%.*s'", (int)strcspn(r->at, "="), r->at);
		else
			fprintf(to, "unexpected argument '%s'", r->at);
		break;
	case OPTIONS_NO_VALUE:
		fprintf(to, "--%s needs a value: %s", r->row->name, r->row->value);
		break;
	case OPTIONS_VALUE_NOT_TAKEN:
		fprintf(to, "--%s takes no value", r->row->name);
		break;
	case OPTIONS_BAD_VALUE:
		fprintf(to, strchr(r->row->value, '|') ? "--%s: '%s' is none of %s" : "--%s: '%s' is not valid; it takes %s", r->row->name,
			r->at, r->row->value);
		break;
	}
}

void options_help(const struct option_row *rows, FILE *to)
{
	for (; rows->name; rows++) {
		char names[160];
		snprintf(names, sizeof(names), "%s%c%s--%s%s%s", rows->letter ? "-" : "  ",
			 rows->letter ? rows->letter : ' ', rows->letter ? ", " : " ", rows->name,
			 rows->value ? "=" : "", rows->value ? rows->value : "");
		help_row(to, names, rows->help);
	}
}

static void man_text(const char *s, FILE *to)
{
	for (; *s; s++) {
		if (*s == '-')
			fputc('\\', to);
		fputc(*s, to);
	}
}

void options_man(const struct option_row *rows, FILE *to)
{
	for (; rows->name; rows++) {
		fputs(".TP\n", to);
		if (rows->letter)
			fprintf(to, "\\fB\\-%c\\fR, ", rows->letter);
		fputs("\\fB\\-\\-", to);
		man_text(rows->name, to);
		fputs("\\fR", to);
		if (rows->value) {
			fputs("=\\fI", to);
			man_text(rows->value, to);
			fputs("\\fR", to);
		}
		fputc('\n', to);
		man_text(rows->help, to);
		fputc('\n', to);
	}
}

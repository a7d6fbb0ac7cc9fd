// SPDX-License-Identifier: MIT
//
// Command-line options as a table: parsing, help and the man page's entries
// come from the same rows, so they cannot drift apart. A value may follow as
// --name=V, --name V, -xV or -x V. No abbreviations: a script that uses one
// would break with the next option.
#include "base/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/help.h"
#include "base/nearest.h"

static const struct option_row *find_long(const struct options_table *t, const char *name, size_t n)
{
	for (const struct option_row *row = t->rows; row < t->rows + t->n; row++)
		if (row->name && strlen(row->name) == n && !memcmp(row->name, name, n))
			return row;
	return NULL;
}

static const struct option_row *find_letter(const struct options_table *t, char letter)
{
	for (const struct option_row *row = t->rows; row < t->rows + t->n; row++)
		if (row->letter && row->letter == letter)
			return row;
	return NULL;
}

// The option that a mistyped name may have been meant for: the nearest, or the only one that begins so.
static const char *find_near(const struct options_table *t, const char *name, size_t n)
{
	const char *nearest = NULL, *begins = NULL;
	unsigned least = UINT32_MAX, beginning = 0;
	for (const struct option_row *row = t->rows; n > 1 && row < t->rows + t->n; row++) {
		if (!row->name || !row->help)
			continue;
		unsigned d = nearest_distance(name, n, row->name);
		if (nearest_is_near(n, d) && d < least) {
			least = d;
			nearest = row->name;
		}
		if (!strncmp(row->name, name, n)) {
			begins = row->name;
			beginning++;
		}
	}
	return beginning == 1 ? begins : nearest;
}

static int keep_integer(const struct option_row *row, void *settings, uint64_t n)
{
	void *member = (char *)settings + row->at;
	if (row->bytes == sizeof(bool))
		*(bool *)member = n;
	else if (row->bytes == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)n;
	else
		*(uint64_t *)member = n;
	return 0;
}

// The number of the word among those of `choices`, which | separates; -EINVAL.
static int choice(const char *choices, const char *word)
{
	size_t n = strlen(word);
	for (int i = 0;; i++) {
		size_t length = strcspn(choices, "|");
		if (length == n && !memcmp(choices, word, n))
			return i;
		if (!choices[length])
			return -EINVAL;
		choices += length + 1;
	}
}

static int keep_text(const struct option_row *row, void *settings, const char *v)
{
	if (!*v || (strchr(row->value, '|') && choice(row->value, v) < 0))
		return -EINVAL;
	*(const char **)((char *)settings + row->at) = v;
	return 0;
}

static int keep_number(const struct option_row *row, void *settings, const char *v)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(v, &end, 10);
	if (v[0] < '0' || v[0] > '9' || *end || errno || (double)n < row->least || (double)n > row->most)
		return -EINVAL;
	return keep_integer(row, settings, n);
}

static int keep_seconds(const struct option_row *row, void *settings, const char *v)
{
	char *end;
	double s = strtod(v, &end);
	if (end == v || *end || !(s > 0 && s >= row->least && s <= row->most)) // not a number compares false
		return -EINVAL;
	*(double *)((char *)settings + row->at) = s;
	return 0;
}

// 0, or -EINVAL.
static int keep(const struct option_row *row, void *settings, const char *v)
{
	int i;
	switch (row->kind) {
	case OPTION_FLAG:
		return keep_integer(row, settings, true);
	case OPTION_SET:
		return keep_integer(row, settings, (uint64_t)row->constant);
	case OPTION_TEXT:
		return keep_text(row, settings, v);
	case OPTION_CHOICE:
		return (i = choice(row->value, v)) < 0 ? i : keep_integer(row, settings, (uint64_t)i);
	case OPTION_NUMBER:
		return keep_number(row, settings, v);
	case OPTION_SECONDS:
		return keep_seconds(row, settings, v);
	case OPTION_CALL:
		break;
	}
	return row->set(settings, v);
}

// What is left to read. A word of letters may hold several options.
struct reader {
	const struct options_table *table;
	void *settings;
	int argc;
	char **argv;
	int i;
};

// Keeps the row's value: what stands behind the name in its word, or the next word.
static void read_value(struct reader *x, struct options_result *r, const char *value)
{
	const struct option_row *row = r->row;
	if (!row->value && value) {
		r->error = OPTIONS_VALUE_NOT_TAKEN;
		return;
	}
	if (row->value && !row->may_lack_value && !value) {
		if (x->i + 1 >= x->argc) {
			r->error = OPTIONS_NO_VALUE;
			return;
		}
		value = x->argv[++x->i];
	}
	if (keep(row, x->settings, value)) {
		r->error = OPTIONS_BAD_VALUE;
		r->at = value ? value : r->at;
	}
}

static void read_long(struct reader *x, struct options_result *r)
{
	const char *name = r->at + 2, *value = strchr(name, '=');
	size_t n = value ? (size_t)(value - name) : strlen(name);
	r->row = find_long(x->table, name, n);
	if (r->row) {
		read_value(x, r, value ? value + 1 : NULL);
	} else {
		r->error = OPTIONS_UNKNOWN;
		r->nearest = find_near(x->table, name, n);
	}
}

static void read_letters(struct reader *x, struct options_result *r)
{
	for (const char *p = r->at + 1; *p && !r->error; p++) {
		const char *rest = p[1] ? p + 1 : NULL;
		r->letter = *p;
		r->row = find_letter(x->table, *p);
		if (!r->row) {
			r->error = OPTIONS_UNKNOWN;
		} else if (x->table->bundles && (!r->row->value || r->row->may_lack_value)) {
			read_value(x, r, NULL);
		} else {
			read_value(x, r, rest);
			break;
		}
	}
}

struct options_result options_read(const struct options_table *table, void *settings, int argc, char **argv)
{
	struct reader x = {table, settings, argc, argv, 1};
	bool options = true;
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].initial)
			keep(&table->rows[i], settings, table->rows[i].initial);
	for (; x.i < argc; x.i++) {
		struct options_result r = {.at = argv[x.i]};
		bool option = options && r.at[0] == '-' && r.at[1];
		if (option && !strcmp(r.at, "--"))
			options = false;
		else if (option && r.at[1] == '-')
			read_long(&x, &r);
		else if (option)
			read_letters(&x, &r);
		else if (!table->operand)
			break;
		else if (table->operand(settings, r.at))
			r.error = OPTIONS_UNKNOWN;
		if (r.error)
			return r;
	}
	return (struct options_result){.next = x.i};
}

const char *options_size(const char *v, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	char *end;
	errno = 0;
	unsigned long long n = strtoull(v, &end, 10);
	char capital = (char)(*end & ~0x20); // 0 for a blank, which strchr would find
	const char *s = capital ? strchr(suffixes, capital) : NULL;
	unsigned shift = s ? (unsigned)(s - suffixes + 1) * 10 : 0;
	end += s != NULL;
	if (v[0] < '0' || v[0] > '9' || errno || (*end && *end != ',') || n > (UINT64_MAX >> 1) >> shift)
		return NULL;
	*bytes = (uint64_t)n << shift;
	return end;
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
		if (r->nearest)
			fprintf(to, " (did you mean --%s?)", r->nearest);
		break;
	case OPTIONS_NO_VALUE:
		fprintf(to, "--%s needs a value: %s", r->row->name, r->row->value);
		break;
	case OPTIONS_VALUE_NOT_TAKEN:
		fprintf(to, "--%s takes no value", r->row->name);
		break;
	case OPTIONS_BAD_VALUE:
		fprintf(to,
			strchr(r->row->value, '|') ? "--%s: '%s' is none of %s" :
						     "--%s: '%s' is not valid; it takes %s",
			r->row->name, r->at, r->row->value);
		break;
	}
}

// The row's help, with its initial value in place of {}.
static const char *help_of(const struct option_row *row, char *out, size_t n)
{
	const char *at = strstr(row->help, "{}");
	if (!at)
		return row->help;
	snprintf(out, n, "%.*s%s%s", (int)(at - row->help), row->help, row->initial, at + 2);
	return out;
}

// "-f, --follow", "--flight[=SIZE]", "-n N".
static void names_of(const struct options_table *t, const struct option_row *row, char *out, size_t n)
{
	const char *before = !row->value ? "" : row->may_lack_value ? "[=" : row->name ? "=" : " ";
	char letter[5] = "";
	if (row->letter)
		snprintf(letter, sizeof(letter), row->name ? "-%c, " : "-%c", row->letter);
	snprintf(out, n, "%*s%s%s%s%s%s", t->flush ? 0 : -4, letter, row->name ? "--" : "",
		 row->name ? row->name : "", before, row->value ? row->value : "",
		 row->may_lack_value ? "]" : "");
}

void options_help(const struct options_table *t, FILE *to)
{
	char names[160], help[1024];
	for (const struct option_row *row = t->rows; row < t->rows + t->n; row++) {
		if (!row->help)
			continue;
		names_of(t, row, names, sizeof(names));
		help_row(to, names, help_of(row, help, sizeof(help)));
	}
}

static void man_text(const char *s, FILE *to)
{
	for (; *s; s++) {
		if (*s == '-' || *s == '\'')
			fputs(*s == '-' ? "\\-" : "\\(aq", to);
		else
			fputc(*s, to);
		if (*s == '|')
			fputs("\\:", to); // a long choice may be broken there
	}
}

static void man_names(const struct option_row *row, FILE *to)
{
	fputs(".TP\n", to);
	if (row->letter)
		fprintf(to, "\\fB\\-%c\\fR", row->letter);
	if (row->name) {
		fputs(row->letter ? ", \\fB\\-\\-" : "\\fB\\-\\-", to);
		man_text(row->name, to);
		fputs("\\fR", to);
	}
	if (row->value) {
		fputs(row->may_lack_value ? "[=\\fI" : row->name ? "=\\fI" : " \\fI", to);
		man_text(row->value, to);
		fputs(row->may_lack_value ? "\\fR]" : "\\fR", to);
	}
	fputc('\n', to);
}

void options_man(const struct options_table *t, FILE *to)
{
	char help[1024];
	fputs(".ad l\n", to); // a long choice leaves no blanks to widen
	for (const struct option_row *row = t->rows; row < t->rows + t->n; row++) {
		if (!row->help)
			continue;
		man_names(row, to);
		man_text(help_of(row, help, sizeof(help)), to);
		fputc('\n', to);
	}
}

void options_man_examples(const struct options_example *rows, size_t n, FILE *to)
{
	fputs(".SH EXAMPLES\n", to);
	for (size_t i = 0; i < n; i++) {
		fputs(".TP\n", to);
		man_text(rows[i].what, to);
		fputs("\n.EX\n", to);
		man_text(rows[i].lines, to);
		fputs("\n.EE\n", to);
	}
}

// SPDX-License-Identifier: MIT
//
// The text of --help. Descriptions begin in one column; below the option where the option
// is too long.
#include "base/help.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

#define COLUMNS 80
#define COLUMNS_LEAST 64
#define COLUMNS_MOST 100
#define NAMES_AT 2
#define TEXT_AT 28

size_t help_columns(FILE *to)
{
	struct winsize size = {0};
	if (!isatty(fileno(to)) || ioctl(fileno(to), TIOCGWINSZ, &size) || !size.ws_col)
		return COLUMNS;
	return size.ws_col < COLUMNS_LEAST ? COLUMNS_LEAST :
	       size.ws_col > COLUMNS_MOST  ? COLUMNS_MOST :
					     size.ws_col;
}

static void words_from(FILE *to, size_t column, const char *text)
{
	struct text_wrap w = {to, column, column, help_columns(to)};
	text_words(&w, text);
	fputc('\n', to);
}

void help_text(FILE *to, const char *lead, const char *text)
{
	fputs(lead, to);
	words_from(to, text_width(lead), text);
}

// Names up to where the text begins, or to the end of a line. Where they end.
static size_t names_left(FILE *to, const char *names)
{
	const char *value = strchr(names, '=');
	size_t indent = NAMES_AT + (value ? (size_t)(value + 1 - names) : 0);
	struct text_wrap w = {to, indent, NAMES_AT, help_columns(to)};
	fprintf(to, "%*s", NAMES_AT, "");
	for (const char *end; *names; names = end) {
		char piece[128];
		end = strchr(names, '|');
		end = end ? end + 1 : names + strlen(names);
		snprintf(piece, sizeof(piece), "%.*s", (int)(end - names), names);
		text_piece(&w, "", piece);
	}
	return w.column;
}

void help_row(FILE *to, const char *names, const char *text)
{
	size_t column = names_left(to, names);
	if (column + 2 > TEXT_AT) {
		fputc('\n', to);
		column = 0;
	}
	fprintf(to, "%*s", (int)(TEXT_AT - column), "");
	words_from(to, TEXT_AT, text);
}

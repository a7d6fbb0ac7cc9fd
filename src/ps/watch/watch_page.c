// SPDX-License-Identifier: MIT
//
// A page is the text of a screen. What makes a page can be tested without a terminal, and the
// terminal's side knows nothing of coroutines.
#include "ps/watch/watch_page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

void watch_page_clear(struct watch_page *p)
{
	p->n = 0;
	p->failed = false;
}

void watch_page_deinit(struct watch_page *p)
{
	free(p->lines);
	*p = (struct watch_page){.utf8 = p->utf8};
}

void watch_page_line(struct watch_page *p)
{
	if (GROW(p->lines, p->n, p->capacity)) {
		p->failed = true;
		return;
	}
	struct watch_line *l = &p->lines[p->n++];
	*l->text = 0;
	l->bytes = l->nruns = 0;
}

size_t watch_page_fit(const char *text, size_t columns)
{
	size_t i = 0;
	for (size_t seen = 0; text[i]; i++) {
		seen += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (seen > columns)
			break;
	}
	return i;
}

// A control character moves the cursor, also one of those that take two bytes (C1).
static void clean(const struct watch_page *p, char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f || (*c >= 0x80 && !p->utf8))
			*c = '?';
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
			*c = c[1] = '?';
}

static void append(struct watch_page *p, enum watch_style style, char *text)
{
	if (!p->n || p->failed)
		return;
	struct watch_line *l = &p->lines[p->n - 1];
	clean(p, text);
	size_t room = sizeof(l->text) - 1 - l->bytes, n = strlen(text);
	n = n < room ? n : room;
	if (!n)
		return;
	if ((!l->nruns || l->runs[l->nruns - 1].style != style) && l->nruns < WATCH_RUNS)
		l->runs[l->nruns++] = (struct watch_run){l->bytes, style};
	memcpy(l->text + l->bytes, text, n);
	l->bytes += n;
	l->text[l->bytes] = 0;
}

void watch_page_put(struct watch_page *p, enum watch_style style, const char *format, ...)
{
	char text[WATCH_LINE_BYTES];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	append(p, style, text);
}

void watch_page_pad(struct watch_page *p, enum watch_style style, size_t columns)
{
	size_t width = p->n ? text_width(p->lines[p->n - 1].text) : columns;
	if (width < columns)
		watch_page_put(p, style, "%*s", (int)(columns - width), "");
}

void watch_page_cell(struct watch_page *p, enum watch_style style, const char *text, size_t columns,
		     bool right)
{
	size_t n = watch_page_fit(text, columns), width = text_width(text);
	int fill = width < columns ? (int)(columns - width) : 0;
	watch_page_put(p, style, "%*s%.*s%*s", right ? fill : 0, "", (int)n, text, right ? 0 : fill, "");
}

void watch_page_words(struct watch_page *p, enum watch_style style, const char *text, size_t indent,
		      size_t columns)
{
	size_t at = p->n ? text_width(p->lines[p->n - 1].text) : 0;
	while (*text) {
		char word[256];
		size_t n = strcspn(text, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		size_t width = text_width(word);
		if (at + width > columns && at > indent) {
			watch_page_line(p);
			watch_page_put(p, style, "%*s", (int)indent, "");
			at = indent;
		}
		watch_page_put(p, style, "%s%s", word, text[n] ? " " : "");
		at += width + 1;
		text += n + (text[n] == ' ');
	}
}

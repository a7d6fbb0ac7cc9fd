// SPDX-License-Identifier: MIT
//
// Durations in words, and lines that wrap between their pieces.
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define HANG 4

void text_duration(char *buf, size_t bytes, uint64_t ns)
{
	uint64_t s = ns / 1000000000;
	if (ns < 1000)
		snprintf(buf, bytes, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(buf, bytes, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, bytes, "%.1f ms", (double)ns / 1e6);
	else if (s < 60)
		snprintf(buf, bytes, "%.1f s", (double)ns / 1e9);
	else if (s < 3600)
		snprintf(buf, bytes, "%" PRIu64 "m%02us", s / 60, (unsigned)(s % 60));
	else if (s < 86400)
		snprintf(buf, bytes, "%" PRIu64 "h%02um", s / 3600, (unsigned)(s % 3600 / 60));
	else
		snprintf(buf, bytes, "%" PRIu64 "d%02uh", s / 86400, (unsigned)(s % 86400 / 3600));
}

// Bytes of the character that begins here; 0: it is none, or steers what shows it (controls of
// C0 and C1, changes of the direction of writing).
static size_t shown(const unsigned char *p)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *p < 0x80 ? 1 : *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
	unsigned c = n == 1 ? *p : *p & (0xffu >> (n + 1));
	if (*p >= 0xf8 || (*p & 0xc0) == 0x80)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	bool steers = c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200e && c <= 0x200f) ||
		      (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
	return steers || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

void text_clean(char *text)
{
	for (size_t n; *text; text += n ? n : 1)
		if (!(n = shown((unsigned char *)text)))
			*text = '?';
}

// Bytes of a sequence that sets colours, as color.h writes them; 0: none begins here.
static size_t colour(const char *s)
{
	size_t n = s[0] == '\033' && s[1] == '[' ? 2 + strspn(s + 2, "0123456789;") : 0;
	return n && s[n] == 'm' ? n + 1 : 0;
}

void text_show(FILE *to, const char *text, bool colours)
{
	while (*text) {
		size_t n = *text == '\n' || *text == '\t' ? 1 : colours ? colour(text) : 0;
		n = n ? n : shown((const unsigned char *)text);
		if (n)
			fwrite(text, 1, n, to);
		else
			fputc('?', to);
		text += n ? n : 1;
	}
}

size_t text_width(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

const char *text_fit(char *buf, size_t bytes, const char *s, size_t columns)
{
	static const char mark[] = "…";
	size_t n = 0, left = columns > 0 ? columns - 1 : 0;
	if (text_width(s) <= columns && strlen(s) < bytes) {
		snprintf(buf, bytes, "%s", s);
		return buf;
	}
	if (bytes < sizeof(mark)) {
		*buf = 0;
		return buf;
	}
	while (s[n] && (left || (s[n] & 0xc0) == 0x80)) // to the end of a character
		left -= (s[n++] & 0xc0) != 0x80;
	while (n && (n + sizeof(mark) > bytes || s[n - 1] == ' ' || (s[n] & 0xc0) == 0x80))
		n--;
	snprintf(buf, bytes, "%.*s%s", (int)n, s, mark);
	return buf;
}

// One that no line can hold: on lines of its own, further in from the second on.
static void long_piece(struct text_wrap *w, const char *piece)
{
	if (w->column > w->indent)
		fprintf(w->to, "\n%*s", (int)w->indent, "");
	w->column = w->indent;
	for (const char *at = piece; *at;) {
		char word[256];
		size_t n = strcspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		size_t width = text_width(word);
		if (at > piece && w->column + 1 + width > w->limit) {
			w->column = w->indent + HANG;
			fprintf(w->to, "\n%*s", (int)w->column, "");
		} else if (at > piece) {
			fputc(' ', w->to);
			w->column++;
		}
		fputs(word, w->to);
		w->column += width;
		at += n + (at[n] == ' ');
	}
}

void text_piece(struct text_wrap *w, const char *between, const char *piece)
{
	size_t width = text_width(piece), gap = text_width(between);
	if (w->indent + width > w->limit && strchr(piece, ' ')) {
		long_piece(w, piece);
		return;
	}
	if (w->column > w->indent && w->column + gap + width > w->limit) {
		fprintf(w->to, "\n%*s", (int)w->indent, "");
		w->column = w->indent;
	}
	if (w->column > w->indent) {
		fputs(between, w->to);
		w->column += gap;
	}
	fputs(piece, w->to);
	w->column += width;
}

void text_words(struct text_wrap *w, const char *text)
{
	char word[256];
	while (*text) {
		size_t n = strcspn(text, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (n)
			text_piece(w, " ", word);
		text += n + (text[n] == ' ');
	}
}

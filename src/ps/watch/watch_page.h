// SPDX-License-Identifier: MIT
//
// watch_page.h - lines of text with styles, independent of a terminal.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum watch_style {
	WATCH_PLAIN,
	WATCH_BOLD,
	WATCH_FAINT,
	WATCH_ALARM,
	WATCH_GOOD,
	WATCH_NOTE,
	WATCH_BAR,
	WATCH_CURSOR
};

enum { WATCH_LINE_BYTES = 1024, WATCH_RUNS = 24 };

struct watch_line {
	char text[WATCH_LINE_BYTES];
	size_t bytes;
	struct watch_run {
		size_t at; // from this byte on
		enum watch_style style;
	} runs[WATCH_RUNS];
	size_t nruns;
};

struct watch_page {
	struct watch_line *lines;
	size_t n, capacity;
	bool utf8;   // else what is not ASCII becomes '?'
	bool failed; // no memory: lines are missing
};

void watch_page_clear(struct watch_page *p);
void watch_page_deinit(struct watch_page *p);
// Begins a line; what is put then goes there.
void watch_page_line(struct watch_page *p);
void watch_page_put(struct watch_page *p, enum watch_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
// Fills the last line up with blanks to so many columns.
void watch_page_pad(struct watch_page *p, enum watch_style style, size_t columns);
// Text in a column of this width, cut or filled up: to the right if it is a number.
void watch_page_cell(struct watch_page *p, enum watch_style style, const char *text, size_t columns,
		     bool right);
// Words, on as many lines as they take: those after the first begin after so many blanks.
void watch_page_words(struct watch_page *p, enum watch_style style, const char *text, size_t indent,
		      size_t columns);
// How many bytes of it so many columns take.
size_t watch_page_fit(const char *text, size_t columns);

// SPDX-License-Identifier: MIT
//
// text.h - durations in words, text without control characters, and lines that wrap.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// "412 ns", "1.6 ms", "3.2 s", "4m12s", "2h07m", "3d04h".
void text_duration(char *buf, size_t bytes, uint64_t ns);
// What is no UTF-8, or could steer a terminal, becomes '?': for names out of the target.
void text_clean(char *s);
// Writes lines so that nothing in them but, if wanted, colours can steer a terminal.
void text_show(FILE *to, const char *text, bool colours);
// Columns that a UTF-8 string takes.
size_t text_width(const char *s);
// A text in so many columns at most: one that is longer ends in "…".
const char *text_fit(char *buf, size_t bytes, const char *s, size_t columns);
// A line that wraps between its pieces: where it stands, where it may go to.
struct text_wrap {
	FILE *to;
	size_t indent, column, limit;
};
// Writes one piece, on a new line (indented) if it does not fit, with
// `between` before it unless the line is fresh. One that is longer than a
// whole line is broken between words.
void text_piece(struct text_wrap *w, const char *between, const char *piece);
// The same for each word of a text, with one blank between.
void text_words(struct text_wrap *w, const char *text);

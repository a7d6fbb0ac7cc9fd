// SPDX-License-Identifier: MIT
//
// options.h - command-line options as a table: one row gives parsing, the
// help text and the man page's entry.
#pragma once

#include <stddef.h>
#include <stdio.h>

struct option_row {
	const char *name;  // "format"; NULL ends the table
	char letter;       // 'o', or 0
	const char *value; // what the value is called; NULL = takes none
	const char *help;
	// Keeps the value (NULL if it takes none). 0, or -EINVAL if it is not understood.
	int (*set)(void *settings, const char *value);
};

enum options_error {
	OPTIONS_OK, OPTIONS_UNKNOWN, OPTIONS_NO_VALUE, OPTIONS_VALUE_NOT_TAKEN, OPTIONS_BAD_VALUE,
};

struct options_result {
	enum options_error error;
	const char *at;                // the word in question
	const struct option_row *row;  // its row, if one was found
};

// Reads all words; those that are no options go to `operand` (-EINVAL there
// makes the word OPTIONS_UNKNOWN). "--" ends the options.
struct options_result options_read(const struct option_row *rows, void *settings, int argc,
				   char **argv, int (*operand)(void *settings, const char *word));
// One line that says what is wrong, without a newline.
void options_say(const struct options_result *r, FILE *to);
void options_help(const struct option_row *rows, FILE *to);
void options_man(const struct option_row *rows, FILE *to);

// SPDX-License-Identifier: MIT
//
// options.h - the command line of all commands, as a table: one row gives
// parsing, the help text and the man page's entry.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPTION_FLAG,    // bool: becomes true
	OPTION_SET,     // an integer, bool or enum: becomes `constant`
	OPTION_TEXT,    // const char *: the word, which is not empty; one of `value`'s where that has several
	OPTION_CHOICE,  // an integer, bool or enum: the number of the word among `value`'s, from 0
	OPTION_NUMBER,  // an unsigned integer, decimal, from `least` to `most`
	OPTION_SECONDS, // double: above 0, from `least` to `most`
	OPTION_CALL,    // set()
};

struct option_row {
	const char *name;  // "format"; NULL: it has a letter only
	char letter;       // 'o', or 0
	const char *value; // what the value is called, or the words to choose from: "a|b"; NULL: takes none
	const char *help;  // NULL: not shown. {} is `initial`
	enum option_kind kind;
	uint16_t at, bytes; // the member of the settings that it sets: OPTION_MEMBER
	int constant;
	double least, most;
	const char *initial; // the value where the option is not given; NULL: the settings are left alone
	const char *refusal; // what is said of a value that is refused, for a command that words that itself
	bool may_lack_value; // --name and --name=V; the next word is never its value
	// Keeps the value (NULL if there is none). 0, or -EINVAL if it is not understood.
	int (*set)(void *settings, const char *value);
};

#define OPTION_MEMBER(type, member) .at = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

struct options_table {
	const struct option_row *rows;
	size_t n;
	bool bundles; // -qv is -q -v; without it, what follows a letter is its value
	bool flush;   // help: a long name begins where a letter would
	// Takes a word that is no option (-EINVAL makes it OPTIONS_UNKNOWN); NULL: options end there.
	int (*operand)(void *settings, const char *word);
};

struct options_example {
	const char *what;  // "Report on ctp.data:"
	const char *lines; // what is typed
};

enum options_error {
	OPTIONS_OK,
	OPTIONS_UNKNOWN,
	OPTIONS_NO_VALUE,
	OPTIONS_VALUE_NOT_TAKEN,
	OPTIONS_BAD_VALUE,
};

struct options_result {
	enum options_error error;
	const char *at;               // the word in question
	char letter;                  // the letter in question; 0: a long name, or no option
	const struct option_row *row; // its row, if one was found
	const char *nearest;          // of an unknown long name: the one that may be meant, or NULL
	int next;                     // without an error: the first word that was not read
};

// Gives the settings their initial values and reads the words from argv[1]. "--" ends the options. argv stays
// referenced.
struct options_result options_read(const struct options_table *table, void *settings, int argc, char **argv);
// One line that says what is wrong, without a newline.
void options_say(const struct options_result *r, FILE *to);
void options_help(const struct options_table *table, FILE *to);
void options_man(const struct options_table *table, FILE *to);
// The manual page's EXAMPLES.
void options_man_examples(const struct options_example *rows, size_t n, FILE *to);
// Decimal digits with K, M or G, in bytes, up to the end or a comma. Returns where it ends; NULL: it is none.
const char *options_size(const char *v, uint64_t *bytes);

// SPDX-License-Identifier: MIT
//
// complete.h - completion scripts for shells, from the same rows as the command line.
#pragma once

#include <stdio.h>

#include "base/options.h"

#define COMPLETE_SHELLS "bash|zsh|fish"

// What the words are that are no options.
enum complete_words {
	COMPLETE_FILES,
	COMPLETE_COMMAND, // a program and its arguments, completed as that program's own
	COMPLETE_PIDS,    // process ids, which the command lists when it is called alone; or files
	COMPLETE_VERBS,   // a process id, as ctp-ps lists them, then one of `verbs`; then a file
};

struct complete_of {
	const char *command; // "ctp-run"
	const struct options_table *table;
	enum complete_words words;
	const char *verbs; // with blanks between
};

// `shell` is one of COMPLETE_SHELLS. 0, or -EINVAL.
int complete_write(FILE *to, const struct complete_of *what, const char *shell);

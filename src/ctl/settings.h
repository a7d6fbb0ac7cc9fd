// SPDX-License-Identifier: MIT
//
// settings.h - what the command line says: a process, a verb, and what some verbs take.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/options.h"

enum settings_action { ACTION_ASK, ACTION_HELP, ACTION_MAN, ACTION_VERSION };

struct verb {
	const char *name;
	const char *takes; // "LIST"; NULL: nothing
	bool needs;        // it cannot be left out
	bool lasts;        // the answer may take long
	const char *help;
};

struct settings {
	enum settings_action action;
	pid_t pid;
	const struct verb *verb;
	const char *arg;   // NULL: none
	const char *wrong; // why a word is not understood
	bool json;
	const char *completion;
};

struct options_result settings_read(struct settings *s, int argc, char **argv);
// What is still missing, in words that follow "ctp-ctl: "; NULL: nothing.
const char *settings_missing(const struct settings *s);
void settings_help(FILE *to);
int settings_completion(FILE *to, const char *shell); // 0, or -EINVAL
void settings_man(FILE *to);

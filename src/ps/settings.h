// SPDX-License-Identifier: MIT
//
// settings.h - what the command line says, and the table that reads it.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/color.h"
#include "base/options.h"

enum settings_action { ACTION_LIST, ACTION_HELP, ACTION_MAN, ACTION_VERSION };

struct settings {
	enum settings_action action;
	pid_t pid;         // 0 = all processes
	const char *core;  // a core file in its place
	const char *saved; // the folder that it lies in, if --save made it
	const char *save;  // where to save
	const char *wrong; // why a word is neither of these, nor a coroutine
	bool all, stack, json, tree, why, watch, lost, stop;
	double delay_s; // of --watch; 0 = not said
	uint64_t *ids;  // coroutines
	size_t nids, ids_capacity;
	enum color color;
	const char *completion; // print a script for that shell, and nothing else
};

struct options_result settings_read(struct settings *s, int argc, char **argv);
void settings_help(FILE *to);
int settings_completion(FILE *to, const char *shell); // 0, or -EINVAL
void settings_man(FILE *to);

// SPDX-License-Identifier: MIT
//
// options.h - the command line of ctp-run. One row of the table in options.c gives parsing,
// help and the man page's entry.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/color.h"
#include "engine/start/event_list.h"

enum options_what {
	OPTIONS_RUN,
	OPTIONS_HELP,
	OPTIONS_VERSION,
	OPTIONS_MAN,
	OPTIONS_SERVE,
	OPTIONS_LIST_EVENTS
};

enum options_clock { OPTIONS_ADAPTIVE, OPTIONS_EXACT, OPTIONS_SPARSE };

struct options {
	enum options_what what;
	const char *output; // -o
	const char *log_file, *shm_file;
	const char *completion; // print a script for that shell
	const char *metrics;    // [ADDR:]PORT or unix:PATH; NULL: none
	uint64_t max_bytes;
	uint32_t stations;
	uint32_t ring_bytes; // --ring-size; 0: CTP_RING_BYTES
	bool no_preload, no_patch, block, prove, quiet, verbose, check, follow, compress, record_args;
	bool allow_empty, paused;
	int error_exitcode;  // 0: none
	const char *fail_on; // the verdict's word
	enum color color;
	enum options_clock clock;
	double timeout_s;      // 0: none
	uint64_t flight_bytes; // --flight; 0: none
	double flight_s;       // 0: all that there is
	const char **env;      // -E, in order
	size_t n_env;
	struct event_list events; // --events
	const char *list_events;  // --list-events
	int serve_fd, serve_pid;
	uint32_t pid;    // -p; 0: a program is started
	char **program;  // argv of the program
	char error[256]; // what is wrong, if options_parse says so
};

// argv stays referenced. 0; -EINVAL: o->error says why.
int options_parse(struct options *o, int argc, char **argv);
uint32_t options_chunks(const struct options *o); // of --flight; 0: none
void options_deinit(struct options *o);
void options_print_help(void);
int options_print_completion(const char *shell); // 0, or -EINVAL
void options_print_man(void);

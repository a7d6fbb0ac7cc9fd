// SPDX-License-Identifier: MIT
//
// log.h - messages of ctp-run: whole lines on stderr (or in --log-file), each beginning "ctp-run: ".
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum log_level {
	LOG_FAIL = 0,   // always
	LOG_SAY = 1,    // unless -q
	LOG_MORE = 2,   // with -v
	LOG_NEVER = -1, // as the highest level: not even failures
};

// Lines above `highest` are dropped. file: NULL for stderr. 0 or -errno.
int log_open(const char *file, int highest);
// The descriptor that lines go to.
int log_descriptor(void);
bool log_hears(enum log_level level); // are lines of this level written?
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

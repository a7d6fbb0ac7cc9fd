// SPDX-License-Identifier: MIT
//
// say.h - the only lines that libctp.so writes, to the program's stderr.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// "ctp: WHAT[: WHY]; the program runs untraced". why: may be NULL.
void say_untraced(const char *what, const char *why);

// CTP_DEBUG: whether anything is said of what the library does. Written by say_init only.
extern bool say_on;

// Called once, by the constructor: reads CTP_DEBUG and notes which file stderr is.
void say_init(void);

// With CTP_DEBUG: "ctp: " and one line, cut off at 256 bytes. format: %s and %u only.
// Async-signal-safe; errno stays. What would block or raise SIGPIPE is not written, nor what
// would go to another file than the one that stderr was at the start.
#define say_debug(...) ((void)(__builtin_expect(say_on, 0) && (say_line(__VA_ARGS__), true)))
void say_line(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

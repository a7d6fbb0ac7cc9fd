// SPDX-License-Identifier: MIT
//
// set_threads.h - threads that wait for each other's end.
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"

// Is a thread in pthread_join?
bool set_threads_any(const struct ctp_region *r);
typedef struct json_t json_t;

// What was said of each thread, by slot; NULL: nothing.
struct set_threads {
	json_t *of[CTP_THREADS_MAX];
};

// If a thread joins another, writes a line for each thread that sleeps in something whose end is known:
// another thread's end, a lock, a read or write, or the loop's wait. Other calls are not reported. A line of
// an earlier inspection holds as long as the thread is in that same wait. False: a thread was awake just
// then.
bool set_threads(FILE *out, const struct inspection *l, struct set_threads *s);
void set_threads_deinit(struct set_threads *s);

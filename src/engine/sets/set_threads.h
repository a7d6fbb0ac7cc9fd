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

// Where a thread joins another, a line for each that sleeps in something of which it is known who could end it: another
// thread's end, a lock, a read or write, or the loop's wait. Of what else a thread may be in nothing is said. What an
// earlier look has said holds for as long as the thread is in that very wait. False: a thread was awake just then.
bool set_threads(FILE *out, const struct inspection *l, struct set_threads *s);
void set_threads_deinit(struct set_threads *s);

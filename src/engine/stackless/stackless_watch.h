// SPDX-License-Identifier: MIT
//
// stackless_watch.h - C++20 coroutines of a traced process: which can never be resumed.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"
#include "engine/stored/keys.h"

struct stackless_watch;

// `out` (stackless.jsonl) and `keys` stay the caller's. NULL if out of memory.
struct stackless_watch *stackless_watch_new(const struct ctp_region *r, pid_t pid, FILE *out,
					    const struct keys *keys);
void stackless_watch_free(struct stackless_watch *w); // takes NULL
// At every turn of the engine's loop; cheap when nothing has happened. True: it hunts for a pause, and wants
// the next turn soon.
bool stackless_watch_poll(struct stackless_watch *w);
// Has the program functions of such coroutines at all? It reads that at the first question.
bool stackless_watch_any(struct stackless_watch *w);
// Were any found so far? Reads nothing.
bool stackless_watch_found(const struct stackless_watch *w); // takes NULL
// While the process still lives, before its end: until `deadline` at most. may_stop: its threads may be
// stopped.
void stackless_watch_final(struct stackless_watch *w, bool may_stop, uint64_t deadline);
// At the end that follows a final inspection at once: those that were resumed or destroyed since are
// withdrawn.
void stackless_watch_again(struct stackless_watch *w, uint64_t deadline);
// The process is gone: what its tables still tell. as_seen: after its last inspection it ended at once.
void stackless_watch_ended(struct stackless_watch *w, bool as_seen);

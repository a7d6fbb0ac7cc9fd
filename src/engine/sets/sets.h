// SPDX-License-Identifier: MIT
//
// sets.h - what the kernel knows about the process's epoll sets and queues as a whole, which no
// single coroutine's evidence shows: registrations that outlived their number, processes that
// share a set, coroutines that wait for an empty or a full queue. Written to sets.jsonl
// (spec/trace.md), anew at each inspection.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

struct sets;

// `out` stays the caller's; *r must outlive it. NULL if out of memory.
struct sets *sets_new(const struct ctp_region *r, pid_t pid, FILE *out);
void sets_free(struct sets *s); // takes NULL

// At every turn of the engine's loop; inspects only if the tables give a reason, and rarely.
void sets_poll(struct sets *s);
// The final inspection while the process lives, until end_ns at most.
void sets_final(struct sets *s, uint64_t end_ns);

// SPDX-License-Identifier: MIT
//
// scan_exclude.h - memory that holds nothing anybody can still use.
#pragma once

#include "engine/inspect/look.h"
#include "engine/inspect/span.h"

// Adds what the scan leaves out: below the stack pointers of sleeping threads
// and suspended coroutines, the event buffers of sleeping epoll waits, and
// the tracer's own memory.
void scan_exclude_find(const struct look *l, struct span_list *out);

// The stack that thread `tid` was born with, from behind its guard up to the C
// library's own record of the thread; sp lies in it. `says`: the word of the record that
// tells where all of it begins, 0 for the first thread. False if that cannot be told.
bool scan_exclude_thread_stack(const struct look *l, int tid, uint64_t sp, struct span *out, uint64_t *says);

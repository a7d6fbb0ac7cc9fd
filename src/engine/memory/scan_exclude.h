// SPDX-License-Identifier: MIT
//
// scan_exclude.h - memory whose contents the program cannot use any more.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/memory/span.h"

// Adds what the scan leaves out: below the stack pointers of sleeping threads
// and suspended coroutines, the event buffers of sleeping epoll waits, and
// the tracer's own memory.
void scan_exclude_find(const struct inspection *l, struct span_list *out);

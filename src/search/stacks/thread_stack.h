// SPDX-License-Identifier: MIT
//
// thread_stack.h - the stack that a thread was born with.
#pragma once

#include "search/memory/memory.h"
#include "search/memory/span.h"

// The stack of thread `tid` from behind its guard up to the C library's own record of the thread; sp lies
// in it. `says`: the word of the record that tells where all of it begins, 0 for the first thread. False if
// that cannot be told.
bool thread_stack_find(const struct memory *m, int tid, uint64_t sp, struct span *out, uint64_t *says);

// SPDX-License-Identifier: MIT
//
// begin.h - coroutines that nobody was seen to make.
#pragma once

#include "preload/coroutine/coroutine.h"

int begin_init(void); // 0, or -1 if there is no memory

// The coroutine that begins where `t` says, on a stack of its own. Whoever began at the same
// stack pointer before has lost that stack. Never NULL.
struct ctp_state *begin_coroutine(struct thread_ctx *g, const struct target *t);

// One whose stack lies in the thread's own while it runs, up to `top`, and is copied away for whoever needs
// the place: it is known by where its library keeps it. `seen`: it begins now. Never NULL.
struct ctp_state *begin_copied(struct thread_ctx *g, uint64_t at, uint64_t top, uint32_t function, bool seen);
struct ctp_state *begin_find_copied(uint64_t at); // one that lives; NULL: none is known

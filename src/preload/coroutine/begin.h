// SPDX-License-Identifier: MIT
//
// begin.h - coroutines that nobody was seen to make.
#pragma once

#include "preload/coroutine/coroutine.h"

int begin_init(void); // 0, or -1 if there is no memory

// The coroutine that begins where `t` says, on a stack of its own. Whoever began at the same
// stack pointer before has lost that stack. Never NULL.
struct ctp_state *begin_coroutine(struct thread_ctx *g, const struct target *t);

// SPDX-License-Identifier: MIT
//
// unwind.h - the stack of a suspended coroutine, from outside.
#pragma once

#include "ctp/ctp.h"

#include <stddef.h>
#include <sys/types.h>

enum { UNWIND_FRAMES = 64 };

// Return addresses, innermost first, from the registers saved in `s`. 0 if it cannot be done.
size_t unwind_state(pid_t pid, const struct ctp_state *s, uint64_t *pcs, size_t max);

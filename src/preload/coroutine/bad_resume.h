// SPDX-License-Identifier: MIT
//
// bad_resume.h - CTP010 to CTP012: a coroutine is entered that already runs, has ended, or has
// lost its stack.
#pragma once

#include "preload/guest/guest.h"

// In state_private.release_at
#define RELEASED_BLOCK (1ULL << 32) // by free, of one allocation

// Control is about to pass to s, which runs or lives no more. g->current is still the
// outgoing coroutine, and its state says where it left. In the table before it happens.
void bad_resume_find(struct thread_ctx *g, struct ctp_state *s);

// The same of a coroutine that the program tells of: it is told to go on, and runs or has ended.
void bad_resume_announced(struct thread_ctx *g, const struct ctp_state *s);

// SPDX-License-Identifier: MIT
//
// release.h - entities that lose their stack, for coroutine.c; the hooks' calls are in coroutine.h
// (`coroutine_released` and its like).
#pragma once

#include "preload/guest/guest.h"

// Enters the stack of s into the index. Whoever had its stack there has lost it.
void release_claim(struct thread_ctx *g, struct ctp_state *s);
// s was taken for superseded, and is entered: its stack is shared by copying. So were all that lost theirs
// to the same one.
void release_revive(struct thread_ctx *g, const struct ctp_state *s);

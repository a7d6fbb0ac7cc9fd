// SPDX-License-Identifier: MIT
//
// held.h - locks that a coroutine held when it was suspended, and that nobody has unlocked
// since.
#pragma once

#include "preload/guest/guest.h"

extern uint32_t held_count; // of them: while it is 0, an unlock has nothing to look for

struct held;

// s suspends with g->locks locked: its stack and changes are as of now.
void held_suspend(struct thread_ctx *g, const struct ctp_state *s);
// `lock` is about to be unlocked by the entity `who`.
void held_release(const void *lock, uint64_t who);
// Somebody finds `lock` taken: by a suspended coroutine? Then NULL is not the answer, and
// held_waited is called once the lock was taken after all.
struct held *held_find(const void *lock, uint64_t *who);
void held_waited(struct held *h, uint64_t who);

// SPDX-License-Identifier: MIT
//
// inherit.h - the coroutines that existed before the fork.
#pragma once

#include "preload/guest/guest.h"

// Reads from the parent's region, `path`, which stacks there were at `forked` (ticks). `attached`:
// when the parent did, as another image may have taken its place since.
void inherit_read(const char *path, uint64_t attached, uint64_t forked);
// No stack is inherited.
void inherit_init(void);
// [lo, hi) is somebody's stack now: what was inherited there is no more.
void inherit_forget(uint64_t lo, uint64_t hi);
// The coroutine on whose inherited stack `addr` is: the coroutine is discovered, and has a station from now
// on. NULL if there is none.
struct ctp_state *inherit_meet(uint64_t addr);
// Gives s, which has its bounds, the name that went with them.
void inherit_name(struct ctp_state *s);

// SPDX-License-Identifier: MIT
//
// watch_use.h - how much of its stack a coroutine has used so far.
#pragma once

#include "ps/read/find.h"

struct watch_use {
	pid_t pid;
	int pagemap; // of the process; -1: may not be read
};

void watch_use_open(struct watch_use *u, const struct found *f);
void watch_use_close(struct watch_use *u);
// From the lowest word of [lo, hi) that is not zero up to hi. -1: not known.
int64_t watch_use_bytes(const struct watch_use *u, uint64_t lo, uint64_t hi);

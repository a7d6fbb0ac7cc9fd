// SPDX-License-Identifier: MIT
//
// blocks.h - which mmap call a piece of memory came from.
#pragma once

#include "preload/guest/guest.h"

int blocks_init(void); // 0, or -1 if there is no memory

// The program's own mmap call that made [lo, hi), if it was seen and still stands.
bool blocks_find(uint64_t lo, uint64_t hi, uint64_t *block_lo, uint64_t *block_hi);

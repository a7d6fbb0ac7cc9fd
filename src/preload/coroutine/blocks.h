// SPDX-License-Identifier: MIT
//
// blocks.h - which mmap call a piece of memory came from.
#pragma once

#include "preload/guest/guest.h"

// Of glibc's chunks: bytes between the chunk and its memory; tracer.chunk_least where the
// program has another allocator.
enum { CHUNK_HEAD = 16, CHUNK_UNKNOWN = 1 };

int blocks_init(void); // also sets tracer.chunk_least; 0, or -1 if there is no memory

// The program's mmap returned [lo, lo + bytes), at an address that the kernel chose.
void blocks_note(uint64_t lo, uint64_t bytes);
// What began in [lo, hi) is unmapped.
void blocks_forget(uint64_t lo, uint64_t hi);

// The program's own mmap call that made [lo, hi), if it was seen and is still mapped.
bool blocks_find(uint64_t lo, uint64_t hi, uint64_t *block_lo, uint64_t *block_hi);

// The program made [lo, hi) inaccessible, or accessible again.
void blocks_guard(uint64_t lo, uint64_t hi, bool guards);

// How far down a stack goes that begins at `top`: to a guard page, or to the begin of the program's own mmap
// call that holds it. False: there is none, or it goes on above the page of `top`, and may hold more than
// this stack.
bool blocks_stack(uint64_t top, uint64_t *lo);

// SPDX-License-Identifier: MIT
//
// thread.h - sets up thread contexts.
#pragma once

#include "preload/guest/guest.h"

// Makes room for the thread contexts and notes in `e` where they are. `top`: an address
// above all frames of the main thread's stack. 0, or -1 and nothing is kept.
int thread_init(struct ctp_ext *e, uint64_t top);

// Rows of memory that is reserved for all threads, made writable a few at a time: what is
// writable counts against RLIMIT_DATA, whether it is used or not. *opened: so many are so far.
bool thread_open_rows(void *rows, uint64_t each, uint32_t row, uint32_t *opened);

// An address above all frames of the calling thread's own stack.
uint64_t thread_top(void);

// In a forked child that is to be traced, too: forgets all contexts. The caller's old one, of which
// only the private stack is good; NULL if it had none.
struct thread_ctx *thread_again(void);

// In a forked child that was not wiped: what the kernel would have done.
void thread_forked(void);
// Takes all contexts away from their threads, which pass through every hook from then on. False: some thread
// stays in a hook. The contexts' memory is used again after the next attach.
bool thread_release_all(void);

// SPDX-License-Identifier: MIT
//
// thread.h - setting up the areas of threads.
#pragma once

#include "guest.h"

// Makes room for the areas and notes in `e` where they lie. `top`: an address
// above all frames of the main thread's stack. 0, or -1 and nothing is kept.
int thread_init(struct ctp_ext *e, uint64_t top);

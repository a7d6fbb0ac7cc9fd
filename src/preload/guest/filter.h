// SPDX-License-Identifier: MIT
//
// filter.h - system calls that a filter of the program's own (seccomp) answers by its end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/guest.h"

enum { FILTER_CALLS = 512 };
extern uint32_t filter_fatal[FILTER_CALLS / 32]; // a bit for each number
extern uint32_t filter_on;

// The program has installed a filter: a struct sock_fprog, or NULL for the strict mode.
void filter_note(const void *program);

// Whether this call must not be made, as the program did not mean to be ended by it.
static inline bool filter_forbids(long nr)
{
	return CTP_UNLIKELY(filter_on) && nr >= 0 && nr < FILTER_CALLS &&
	       (filter_fatal[nr / 32] >> (nr % 32) & 1);
}

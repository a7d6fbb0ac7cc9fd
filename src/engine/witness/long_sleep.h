// SPDX-License-Identifier: MIT
//
// long_sleep.h - has the loop slept ten times as long as ever before? A program that takes interest in a
// descriptor away for a while (a rate limiter) gives it back when something wakes its loop, which did not
// take so long so far.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctp/region.h"

#define LONG_SLEEP_AT_LEAST_NS 10000000000ULL

struct long_sleep {
	struct long_sleep_thread {
		uint32_t uses;       // of the slot, + 1; 0: not seen
		uint64_t wait_seq;   // its wait when it was last looked at
		uint64_t since_ns;   // so long it has been in it at least; 0: in none
		uint64_t longest_ns; // of the waits before
	} * v;                       // by slot
	uint32_t n;
};

// Looks at every live thread, now and then: sleeps between two looks are not seen.
void long_sleep_note(struct long_sleep *s, const struct ctp_region *r, uint64_t now_ns);
void long_sleep_deinit(struct long_sleep *s);
// Has each thread that polls or runs coroutines been asleep ten times as long as ever, and ten seconds?
bool long_sleep_now(const struct long_sleep *s, const struct ctp_region *r, uint64_t now_ns);

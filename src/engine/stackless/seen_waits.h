// SPDX-License-Identifier: MIT
//
// seen_waits.h - the coroutines that wait, as the last look saw them: since when, and which words led to
// each.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEEN_WORDS = 2 };

struct seen_wait {
	uint64_t at, created;
	uint64_t digest;   // of its frame
	uint64_t event;    // the last one of a descriptor whose number it holds, in ticks
	uint64_t since_ns; // of the first look that saw it so
	uint64_t words[SEEN_WORDS];
	unsigned nwords;
	bool armed, led, told; // awaiting.h
	bool plain;            // a word that is no disguise led to it in this wait
	bool judged;           // a look that had the time has told what leads to it
	bool reached;          // and it was something that may resume it
	enum {
		SEEN_FOUND,
		SEEN_TAKEN, // no word leads to it any more, and no other coroutine's handle took the place
		SEEN_REPLACED
	} is; // as it was when no word led to it for the first time
};

struct seen_waits {
	struct seen_wait *v; // by address
	size_t n, room;
};

const struct seen_wait *seen_waits_find(const struct seen_waits *s, uint64_t at);
// Is it the same wait, as far as can be seen?
bool seen_waits_same(const struct seen_wait *then, const struct seen_wait *now);
// In order of their addresses.
void seen_waits_add(struct seen_waits *s, const struct seen_wait *w);
void seen_waits_deinit(struct seen_waits *s);

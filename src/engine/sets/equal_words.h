// SPDX-License-Identifier: MIT
//
// equal_words.h - pairs of words that were equal whenever a coroutine waited at one place.
//
// A queue that is empty shows it by two words: the ends of a std::deque, the head and the tail of a ring,
// what was sent and what was taken. Who waits for work leaves them equal; each piece of work moves both.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/span.h"

enum { EQUAL_WORDS = 32, EQUAL_VISITORS = 8, EQUAL_MEMBERS = 16 };
#define EQUAL_STEP_MOST 1024 // words that move on by more are no ends of a queue, or it goes to another piece
#define EQUAL_LATE_NS 100000000ULL // who is resumed later than that may be meant to be

struct equal_pair {
	uint16_t a, b;            // bytes from the base on
	uint8_t bytes;            // 4 or 8
	uint8_t moves, jumps;     // how often both moved together: on by so many steps; any other way
	uint16_t step;            // the smallest; 0: they have not moved
	bool a_moved, b_moved;    // since they first differed
	uint64_t v;               // when they were last equal
	uint64_t first[2];        // when they first differed
	uint64_t ok_ns, since_ns; // last seen equal; differ since (0: they do not)
	uint64_t longest_ns;      // for so long they differed before, until one was resumed
	uint64_t turns;           // of loops, when they first differed
	uint64_t id, changes;     // who waited then
	bool here;                // and did so when they were last equal, and nobody came since
};

struct equal_member { // who was seen to wait there
	uint64_t id, changes;
	uint64_t station;
	uint32_t parks; // times, while the words were as they are when it has nothing to do
};

// The memory from `base` on, of those who wait with one stack.
struct equal_words {
	uint64_t stack, base;
	uint64_t look, ns;    // the last one, and when it was
	uint64_t who, before; // who waited at this look and at the last one, as one number
	uint64_t words[EQUAL_WORDS];
	size_t nwords;
	struct equal_member visitors[EQUAL_VISITORS], last[EQUAL_VISITORS]; // of this look, of the one before
	size_t nvisitors, nlast;
	bool came; // one of them was not there at the look before
	struct equal_member members[EQUAL_MEMBERS];
	size_t nmembers;
	bool many; // there were more
	struct equal_pair *pairs;
	size_t npairs;
};

struct equal_look {
	uint64_t number, ns, turns;
	uint64_t gap_ns;   // two looks that are further apart show nothing of what was between
	struct span avoid; // what points there is the allocator's
};

// One waits there at this look. words: as they are now; n of them.
void equal_words_visit(struct equal_words *e, const struct equal_look *l, const struct equal_member *who,
		       const uint64_t *words, size_t n);
// After all who wait there have been given. -ENOMEM.
int equal_words_judge(struct equal_words *e, const struct equal_look *l);
// Of those that have differed for `least_ns` or more at the last look, that which moved most often; NULL.
const struct equal_pair *equal_words_differ(const struct equal_words *e, uint64_t least_ns);
// Does it know the same two words (addresses)?
const struct equal_pair *equal_words_same(const struct equal_words *e, uint64_t a, uint64_t b);
void equal_words_deinit(struct equal_words *e);

// SPDX-License-Identifier: MIT
//
// known_waits.h - the suspension points at which the program was seen to keep a coroutine in a form that the
// search recognises. That nothing leads to a coroutine proves nothing where none of its kind was ever found.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known_wait {
	uint64_t resume, index; // a function, and where in it
};

// A word was found that leads to a coroutine which is suspended there.
struct known_word {
	struct known_wait place;
	uint64_t at, offset;         // the word, and how far behind the frame's begin it leads
	uint64_t coroutine, created; // created: 0, its birth was not seen
	bool single;                 // its handle, in static storage: one such word is enough
	bool fresh;                  // no event has come since the coroutine was made: it was not resumed
	bool gone;                   // it is not suspended there any more
};

enum known_how {
	KNOWN_NEVER,  // none that is suspended there was found
	KNOWN_LEFT,   // some were, but what led to them may be left of before
	KNOWN_ARMED,  // nothing led to one for whose open descriptor an event may come
	KNOWN_UNUSED, // a word leads to this one from where a container has no element now
	KNOWN_ENDS,   // it is, but what leads to this one may be more than the end of another block
	KNOWN_FOUND,  // its kind is kept in a form that is searched for
};

struct known_waits {
	struct known_place { // sorted
		struct known_wait at;
		bool sure;  // a registration leads there, or did
		bool armed; // KNOWN_ARMED
	} * v;
	size_t n, room;
	struct known_word *words;
	size_t nwords, words_room;
};

void known_waits_sure(struct known_waits *k, struct known_wait place);
void known_waits_armed(struct known_waits *k, struct known_wait place);
void known_waits_word(struct known_waits *k, const struct known_word *w);
// The word went on leading to a coroutine that was resumed: none like it is fresh.
void known_waits_left(struct known_waits *k, uint64_t at);
// `intact`: the coroutine in question itself was found before, and what led to it was taken away since.
enum known_how known_waits_how(const struct known_waits *k, struct known_wait place, bool intact);
const char *known_how_name(enum known_how how);
void known_waits_deinit(struct known_waits *k);

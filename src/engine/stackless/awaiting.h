// SPDX-License-Identifier: MIT
//
// awaiting.h - the C++20 coroutines of a process as suspects of an inspection: what leads to each.
#pragma once

#include "engine/inspect/inspect.h"
#include "engine/stackless/closes.h"
#include "engine/stackless/ends.h"
#include "engine/stackless/functions.h"
#include "engine/stackless/known_waits.h"
#include "frames/stackless.h"

enum awaiting_answer {
	AWAITING_OPEN,     // it could not be told
	AWAITING_ARMED,    // nothing does, but an event may come of a descriptor whose number it holds
	AWAITING_REACHED,  // something leads to it that may resume it
	AWAITING_OWNED,    // what leads to it are coroutines that await it, and what its descriptor's
			   // registration led to
	AWAITING_HELD,     // its descriptor's registration led to it, and one owner still does
	AWAITING_NUMBERED, // one word leads to it, beside the number of a descriptor that was closed
	AWAITING_LOST,     // nothing leads to it
};

struct awaiting_one { // by row of the list
	enum awaiting_answer answer;
	uint32_t suspect; // whose memory it lies in; STACKLESS_NONE: nobody's
	const struct closes_one
		*close; // of a descriptor whose registration led to it, or its number; or NULL
	const struct closes_one *ended; // of one that is lost: of a descriptor whose number it holds; or NULL
	uint64_t promise_of; // of one that is owned, unless the promise of the one that awaits it leads to
			     // it: that one's resume function, and where in its frame the first word is that
			     // leads to it; 0: it is owned
	uint64_t promise_at;
	uint64_t closed;    // when the last such descriptor was, also if it was its own
	enum known_how how; // of one that is lost: is its kind kept in a form that is searched for?
	bool ends;          // words that lead to it were left out, as the ends of other blocks
	bool left;          // or as what was left in the unused part of a container
	bool armed;         // an event may come that leads to it, or of a descriptor whose number it holds
	bool led;           // by the data of a registration of which an event may come
	bool told;          // an earlier look has told of it, and this one could not
	uint64_t since_ns;  // a look saw it, and none saw a change since; 0: it is not known
	uint64_t digest;    // frame_digest.h: of one that there is something to tell of
};

struct awaiting {
	struct functions *functions;
	const struct closes *closes;
	struct stackless_list list;
	struct awaiting_one *v; // one for each of the list
	struct suspect *suspects;
	size_t nsuspects;
	struct ends ends, left; // words that were left out
	bool found;             // the list is there
	bool too_many;          // more than can be judged
	char why[INSPECT_TEXT]; // they could not be found; empty
};

// Finds the coroutines, and makes l->who of them, which is the caller's to free.
bool awaiting_find(struct awaiting *a, struct inspection *l);
// The row of the frame that an address lies in, or STACKLESS_NONE.
uint32_t awaiting_row_at(const struct awaiting *a, uint64_t addr);
// Of a row, or STACKLESS_NONE: the innermost coroutine that it awaits, at last; itself if it awaits none.
uint32_t awaiting_innermost(const struct awaiting *a, uint32_t row);
// The frame into which an address leads, or, if that one awaits another, the innermost of those; or
// STACKLESS_NONE.
uint32_t awaiting_row(const struct awaiting *a, uint64_t addr);
void awaiting_deinit(struct awaiting *a); // not what the caller lent

// SPDX-License-Identifier: MIT
//
// control_group.h - does the search find the coroutines that the program can resume? One to which nothing
// led, and which was resumed all the same, or whose wait is healthy, is kept in a form that is not searched
// for: then "no pointer found" proves nothing about any other coroutine of the process. Nor does it where
// nothing leads to any of the others.
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"
#include "engine/suspects/suspects.h"

struct control_group {
	struct control_one { // nothing led to it while it was suspended so
		uint64_t id, changes;
		uint32_t station;
	} * v;
	size_t n, room;
	uint64_t check_ns; // not checked before
	uint64_t looked;   // moves of the tables at the last look that could tell; 0: none could
	unsigned tries;    // of looks that are owed, and could not tell
	bool owed;         // a finding rests on a search, and the look at the others could not tell
	bool found;        // something led to some of the others, at a look that could tell
	bool unfound;   // there were others at the last look that could tell, and nothing led to any, then or
			// before
	unsigned looks; // of its own, while the program was well
	uint64_t moves, rest_ns; // moves when last asked, and since when they are the same
	uint64_t next_ns;        // no look of its own before
	uint64_t wait_ns;        // until the next try, if the program does not rest
	uint64_t coroutine;      // the first one that is kept in such a form; 0: none is known
	bool said;
	char text[INSPECT_TEXT]; // the same in words, or what is unfound
};

void control_group_deinit(struct control_group *g);
// Is it time for a look of its own? A few are made in a run, and those that are owed; none while the tables
// move.
bool control_group_due(struct control_group *g, const struct ctp_region *r, uint64_t now_ns);
// The look was made, or could not be made because a thread was awake.
void control_group_made(struct control_group *g, bool made, uint64_t now_ns);
// Searches for what leads to suspended coroutines that are no suspects. False: it could not be told. like: of
// whom, until when. own: the program is well, and no thread is stopped for it.
bool control_group_look(struct control_group *g, const struct suspects *suspects,
			const struct inspection *like, bool own);
// Nothing led to this suspect, in a search of an inspection that is over.
void control_group_note(struct control_group *g, const struct suspect *s);
// Was one of those resumed since? now: even if they were checked a moment ago.
void control_group_check(struct control_group *g, const struct ctp_region *r, bool now);
// That is known of the process that forked this one.
void control_group_inherit(struct control_group *g, uint64_t coroutine);
// Appends to witness.jsonl what is known, once.
void control_group_write(struct control_group *g, FILE *out, uint64_t ns);
// P6a of all suspects: what is not found may be there, or nobody can tell.
void control_group_doubt(const struct control_group *g, struct inspection *l);

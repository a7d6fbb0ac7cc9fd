// SPDX-License-Identifier: MIT
//
// stackless_looks.h - the C++20 coroutines of a process, as the last inspection saw them (spec/trace.md,
// "stackless.jsonl").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/looks/slices.h"
#include "trace/looks/witness.h"

struct stackless_close { // of a descriptor whose registration led to one
	int32_t fd;
	uint32_t gen;
	unsigned kind, how, opened_how;          // enum ctp_fd_kind, ctp_fd_call
	uint64_t closer, closed, opener, opened; // entities, ticks
	uint32_t closer_stack, opener_stack;
};

struct stackless_seen {
	uint64_t id;
	char *symbol; // of its function, mangled
	enum { STACKLESS_LOST, STACKLESS_OWNED, STACKLESS_HELD, STACKLESS_NUMBERED } answer;
	bool withdrawn;      // it was resumed or destroyed since: only while it is read
	bool initial;        // it was never started,
	bool may_be_initial; // or so it is if it is suspended at its function's own line
	bool single;         // and its function suspends at one place alone
	bool unknown;        // it is not known that its kind is kept in a form that is searched for,
	enum {
		STACKLESS_NEVER, // as none that is suspended there was ever found,
		STACKLESS_LEFT,  // or only by words that may be left of before,
		STACKLESS_ARMED, // or nothing led to one whose descriptor was open and registered,
		STACKLESS_ENDS,  // or words lead to it that may be another block's end,
		STACKLESS_UNUSED // or that lie where a container has no element now
	} why;
	uint32_t stack;      // as in slices.h: of its awaits
	struct witness ways; // of it, only `open`: the words that lead to it
	uint64_t promise_of; // STACKLESS_OWNED, unless the promise of this resume function's frame leads to
			     // it; 0: it does not
	uint64_t promise_at; // the first word there that leads to it
	bool closed;
	struct stackless_close close;
	uint64_t created, creator; // ticks, and the entity; 0: its allocation was not seen
	uint32_t creator_stack;
};

struct stackless_destroyed { // while they were suspended
	char *symbol;
	uint64_t count, first, longest;      // ticks: when the first one was; the oldest one's age
	uint32_t created_stack, first_stack; // stack ids: of their creation, of the first one's end
};

struct stackless_wait { // at one place, for long, and none of them resumed
	char *symbol;
	uint64_t count, armed, least_ns,
		most_ns; // armed: how many hold the number of a registered descriptor
	uint32_t stack;  // of the first one
};

enum { STACKLESS_STEPS = 32 };

struct stackless_steps { // instructions, and what each calls directly; 0: nothing
	uint64_t at[STACKLESS_STEPS], calls[STACKLESS_STEPS];
	unsigned n;
};

struct stackless_place { // what the code says of one place that stands in these stacks; 0: not known
	uint64_t pc;     // as it stands there
	bool gcc, merged, initial;
	uint64_t resume, asks, landing, store;
	struct stackless_steps behind, before; // the store; the branch that decides to suspend
};

struct stackless_looks {
	bool looked, final;
	uint64_t ns;
	uint64_t again_ns; // of `waits`, if they are of a later look; 0: they are not
	uint64_t total, suspended, initial, last, running, destroying,
		may_have_ended; // last: at its end, and kept
	uint64_t undecided;     // suspended, and it could not be told what leads to them: `why`
	bool rings;             // an io_uring or AIO context was open
	bool sent;              // bytes in a connection of its own may lead to any of them
	bool half;              // not all words in disguise were looked for
	bool quiet;             // P6b: the whole program slept for good
	char *why;
	char *way;     // what was not searched, and may lead to any of them; NULL: nothing
	char *doubt;   // nobody could ask later what leads to them, and why; NULL: that was not necessary
	char *control; // why "no pointer found" proves nothing here; NULL: no reason is known
	uint64_t scanned_bytes;
	uint64_t unseen; // functions of such coroutines, where no look could be made
	struct stackless_seen *v;
	size_t n, room;
	struct stackless_place *places;
	size_t nplaces, places_room;
	struct stackless_destroyed *destroyed;
	size_t ndestroyed, destroyed_room;
	struct stackless_wait *waits;
	size_t nwaits, waits_room;
	uint64_t bad_lines;
	struct slices_set *stacks; // while it is read
};

// No file: an empty one. Stacks go to *stacks.
int stackless_looks_read(struct stackless_looks *s, struct slices_set *stacks, int folder, const char *name);
void stackless_looks_deinit(struct stackless_looks *s);

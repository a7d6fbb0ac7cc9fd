// SPDX-License-Identifier: MIT
//
// stuck_walk.h - one walk over the tables for suspects whose descriptor is open, and its two halves: what the
// tables hint at, and what the kernel says of that. For stuck.c, stuck_tables.c and stuck_rule.c.
#pragma once

#include "base/idmap.h"
#include "engine/stored/queued.h"
#include "engine/suspects/suspects.h"
#include "engine/suspects/unheard.h"

struct stuck_reader {
	uint64_t id; // of a coroutine
	int fd;
};

struct stuck_walk {
	struct suspects *s;
	pid_t pid;
	bool final, asleep, hints;
	uint64_t now_ns, deadline_ns, turns, epoch;
	struct suspect **pairs; // coroutines and descriptors at which the tables hint
	size_t n, room;
	uint64_t *referenced; // sorted: ids that an open registration names
	size_t nreferenced, referenced_room;
	struct stuck_reader *readers; // of descriptors whose entries name them in no other way
	size_t nreaders, readers_room;
	bool many;     // an entry does not name all who wait
	bool watch;    // there may be something to be read soon, of which nothing can tell the program
	unsigned sent; // of those that wrote last: so many were asked
	int crowded;   // no descriptor is free: 1, -1: one is; 0: not asked
	struct unheard_sets sets;
	struct registrations registrations;
	struct queued queued;
	struct registration **by_number; // rows, sorted by number
	struct idmap ids;                // of coroutines that are suspects already: of the first `named`
	size_t named;
};

// stuck_tables.c. Adds to `pairs` what the tables hint at.
void stuck_tables_find(struct stuck_walk *w);
struct suspect *stuck_tables_suspect(const struct stuck_walk *w, uint32_t station, const struct ctp_state *c);
// Is there a suspended coroutine, and in which state?
bool stuck_tables_coroutine(const struct stuck_walk *w, uint64_t station, struct ctp_state *c);
// Which of its waits is F? -1: none, but events of F resumed it from where it stands, or it first waited for
// F there; -2: it does not wait for F.
int stuck_tables_wait(const struct ctp_state *c, int fd, const struct ctp_fd *f);

// stuck_rule.c. Of what is it suspected? Needs the kernel's rows, sorted: stuck_rule_sort().
enum ctp_rule stuck_rule(struct stuck_walk *w, struct suspect *x);
bool stuck_rule_sort(struct stuck_walk *w);

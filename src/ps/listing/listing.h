// SPDX-License-Identifier: MIT
//
// listing.h - coroutines that no table names: rows of any source, with the evidence for each. Who
// fills it (search_rows.c) knows how they were found; who prints it (listing_text.c,
// listing_json.c) does not.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/intern.h"
#include "ctp/ctp.h"
#include "symbols/frames.h"

enum { LISTING_EVIDENCE = 8, LISTING_WAITS = 4 };

enum listing_state {
	LISTING_SUSPENDED,
	LISTING_POOLED, // suspended, and idle in its engine
	LISTING_CREATED,
	LISTING_RUNNING,
	// of stackless ones alone
	LISTING_INITIAL, // never started
	LISTING_FINAL,   // at its end, and kept
	LISTING_DESTROYING,
	LISTING_MAY_HAVE_ENDED,
	LISTING_STATES
};

struct listing_wait {
	int fd; // -1: its number was closed, the registration stands
	int epfd;
	uint32_t events; // EPOLL bits
};

struct listing_row {
	uint64_t id; // its control block's or frame's address
	bool stackless;
	enum listing_state state;
	uint64_t entry;              // its first function; 0: not known
	uint32_t stack;              // of the stacks; 0: none
	uint64_t suspended_at;       // of a stackless one: where it goes on; 0: not known
	uint64_t awaits, awaited_by; // of stackless ones: ids; 0: nobody
	int tid;                     // that runs it; 0
	const uint64_t *regs;        // of a stackful one: where it goes on, by enum ctp_reg; the listing's
	const char *source,
		*how; // "search", and in a few words by what it was found; the listing's or constant
	const char *const *evidence; // the listing's (listing_say); NULL ends them
	struct listing_wait waits[LISTING_WAITS];
	uint8_t nwaits;
	// of a stackless one, where its allocation was seen (ps/print/births.h); else 0
	const struct symbols_frame *created_at;
	uint64_t creator, age_ns;
	bool guessed;         // a frame of its stack was found by its frame pointer
	bool lost;            // nothing leads to it
	const char *lost_why; // the listing's; how sure that is
};

struct listing_thread {
	int tid;
	char state;       // as ps(1) says; 0: not known
	char call[64];    // "" = not known
	uint64_t running; // the id of what it runs; 0: its own stack
};

struct listing_group {
	const struct listing_row *first;
	size_t n;
};

struct listing {
	const char *core; // in place of a process, as given; else NULL
	pid_t pid;
	struct listing_row *v; // after listing_finish: by group
	size_t n, capacity;
	struct listing_group *groups;
	size_t ngroups;
	struct listing_thread *threads;
	size_t nthreads, threads_capacity;
	struct symbols *symbols;
	char root[40]; // where the process's files lie, if not here; else ""
	size_t counts[LISTING_STATES];
	size_t finished, freed, unsettled, on_cpu; // that were seen, and are not listed
	size_t inside;                             // what looks like a frame inside a block of something else
	uint64_t bytes;                            // that were searched
	char partial[160];                         // why not all was searched; "": it was
	bool traced;                               // its tables were left aside
	bool only_lost;                            // rows are those to which nothing leads,
	size_t all;                                // of so many
	const char *undecided; // why that could not be decided; the listing's; NULL: it was
	uint64_t stop_ns; // --stop may decide it, and would hold the threads for about so long; 0: it would
			  // not
	struct listing_fds *fds; // fd_names.h; NULL: not known
	// what follows is listing.c's
	struct intern stacks, words;
};

// Empties one that is filled again and again: symbols, stacks and words stay, by the same numbers.
void listing_again(struct listing *l);
// Adds a row; what the pointers in it point to is the listing's already. 0 or -ENOMEM.
int listing_add(struct listing *l, const struct listing_row *row);
// The number of this stack, and the one copy of this text. 0, NULL without memory.
uint32_t listing_stack(struct listing *l, const uint64_t *pcs, size_t n);
// The same of a stackless one's awaits: at each address only the outermost function is meant.
uint32_t listing_async_stack(struct listing *l, const uint64_t *pcs, size_t n);
const char *listing_word(struct listing *l, const char *text);
const void *listing_bytes(struct listing *l, const void *bytes, size_t n);

// What speaks for a row. Rows of which the same is said share it: there may be a million.
struct listing_said {
	const char *v[LISTING_EVIDENCE]; // NULL ends them
	size_t n;
};
void listing_say(struct listing *l, struct listing_said *s, const char *text);
const char *const *listing_evidence(struct listing *l, const struct listing_said *s);
// Coroutines that nothing led to at a first look, and how they stood.
struct listing_seen {
	bool known; // there was one
	struct listing_seen_one {
		uint64_t id, at;
	} * v; // by id
	size_t n, room;
};
int listing_seen_add(struct listing_seen *s, uint64_t id, uint64_t at); // in the order of ids; 0 or -ENOMEM
// Was it seen so? Where there was no first look: yes.
bool listing_seen_has(const struct listing_seen *s, uint64_t id, uint64_t at);
// Tells pooled ones, counts, and groups what is alike. 0 or -ENOMEM.
int listing_finish(struct listing *l, bool apart);
void listing_deinit(struct listing *l);
size_t listing_stackless(const struct listing *l); // how many are

// Where all of them were created; NULL: at several places, or that is not known.
const struct symbols_frame *listing_one_creator(const struct listing_group *g);
// Frames of a stack, innermost first. 0 or -ENOMEM.
int listing_frames(const struct listing *l, uint32_t stack, struct frames *out);
size_t listing_pcs(const struct listing *l, uint32_t stack, const uint64_t **pcs);
// What a row is called, fit for a terminal. `buf` holds it.
const char *listing_label(const struct listing *l, const struct listing_row *r, char *buf, size_t bytes);
// "suspended", "created", "running"; of stackless ones "initial", "final", "destroying", "may have ended",
// too.
const char *listing_state_word(const struct listing_row *r);

struct listing_wants {
	bool all, whole, tree, why; // --all, --stack, --tree, --why
	const uint64_t *ids;        // only these; 0: all
	size_t nids;
};
bool listing_wanted(const struct listing_wants *w, uint64_t id);
// Their groups alone, as a part of another list. JSON: *any: a group stands there already.
int listing_text_groups(FILE *to, const struct listing *l, const struct listing_wants *w, bool color);
int listing_json_groups(FILE *to, const struct listing *l, const struct listing_wants *w, bool *any);
// The same in a tree: a root, and who awaits whom, as edges.
int listing_json_root(FILE *to, const struct listing *l, const struct listing_wants *w);
int listing_json_edges(FILE *to, const struct listing *l, bool *any);
int listing_text(FILE *to, const struct listing *l, const struct listing_wants *w, bool color);
int listing_json(FILE *to, const struct listing *l, const struct listing_wants *w);

// SPDX-License-Identifier: MIT
//
// set_looks.h - what the engine saw of the process's epoll sets and queues as
// a whole, at its last look (spec/trace.md, "sets.jsonl").
#pragma once

#include "trace/witness.h"

struct set_stale { // a registration whose number is closed, or another file's
	int64_t epfd, epgen, fd, gen;
	uint64_t data;
	bool twin; // the number was registered again in the same set
};

struct set_shared { // a process that has a set open as well
	int64_t epfd, epgen, fd, rows;
	uint64_t pid, began_ns;
	bool waits; // sleeps in a wait of it
};

struct set_queue { // a coroutine that waits for a queue inside the program
	uint64_t coroutine, changes;
	int64_t fd, gen;
	bool out, ready;
	bool led; // another registration, armed, leads to it, or may
};

struct set_unread {
	int64_t fd, gen, bytes;
};

struct set_looks {
	bool looked;
	uint64_t ns;
	struct set_stale *stale;
	size_t nstale, stale_room;
	struct set_shared *shared;
	size_t nshared, shared_room;
	struct set_queue *queues;
	size_t nqueues, queues_room;
	struct set_unread *unread;
	size_t nunread, unread_room;
	struct witness_item items[PROOFS]; // P0, P5, P6b, of the program as a whole
	uint64_t bad_lines;
};

// No file: an empty one.
int set_looks_read(struct set_looks *s, const char *path);
void set_looks_deinit(struct set_looks *s);

// SPDX-License-Identifier: MIT
//
// set_looks.h - the epoll sets and queues of a process as a whole, as the last inspection
// saw them (spec/trace.md, "sets.jsonl").
#pragma once

#include "trace/looks/slices.h"
#include "trace/looks/witness.h"

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
	bool led;                 // another registration, armed, leads to it, or may
	uint64_t writer;          // of a pipe to which only others can write: the pid of one; 0
	bool child, sleeps;       // that one is a child of this process; all of its threads sleep
	char call[32], wchan[40]; // in what its first thread sleeps; empty: not known
	uint64_t still_ns;        // none of its threads has run for so long, at least; 0: not known
};

struct set_unread {
	int64_t fd, gen, bytes;
};

struct set_end { // of a descriptor that a thread waits for
	int64_t fd, gen;
	bool in, out;
};

// A thread that sleeps in something of which it is known who could end it: another thread's
// end or its lock (`of`), a call on a descriptor, or, in its loop, all that the loop watches.
struct set_thread {
	uint64_t tid, slot, entity, native, of;
	uint64_t seq, switches, events; // as in ctp_thread
	enum { SET_JOIN, SET_LOCK, SET_IO, SET_LOOP } in;
	bool all;           // nothing else ends it
	int64_t epfd;       // of a loop; -1: poll, select
	size_t ends, nends; // of set_looks.ends
	uint32_t stack;     // as in slices.h; 0: none
};

// Coroutines that wait for each other's locks: each at its hub, which holds the next one's handle.
struct set_circle_wait {
	uint64_t coroutine, changes, hub;
	char *name; // of the hub; NULL: it has none
};

// One alone waits for itself.
struct set_circle {
	bool firm; // each hub says by different words who waits and who has it
	size_t waits, n;
	bool container; // who waits is in a container beside the one who has it
};

struct set_held { // coroutines that are queued at a hub which holds the handle of one that has ended
	uint64_t by;
	bool mutex; // it is known to be one
	size_t waits, n;
};

struct set_queued { // coroutines that are queued at a hub, whoever has it
	size_t waits, n;
};

// A queue has filled, while those wait who emptied it: two words that were equal whenever they waited differ.
struct set_filled {
	uint64_t at, apart; // of the words: the first one's address, and bytes from there to the other
	uint64_t parks, moves, late_ns;  // waits that were seen; times that both had moved; how late, at most
	bool here;                       // they waited when the words were equal last, and nobody came since
	uint64_t empty_ns, since_ns, ns; // last seen equal; differ since; when that was seen
	char *name;                      // of the first word; NULL: it has none
	size_t parked, n;                // of set_looks.readers
};

struct set_parked { // suspended without a known wait
	uint64_t coroutine, changes;
};

struct set_parked_list {
	struct set_parked *v;
	size_t n, room;
};

struct set_looks {
	bool looked;
	bool handlers; // a signal may run the program's code in a thread that sleeps
	bool sleeps;   // nothing could wake it but such a signal, one that ends programs
	struct set_thread *threads;
	size_t nthreads, threads_room;
	struct set_end *ends;
	size_t nends, ends_room;
	uint64_t ns;
	struct set_stale *stale;
	size_t nstale, stale_room;
	struct set_shared *shared;
	size_t nshared, shared_room;
	struct set_queue *queues;
	size_t nqueues, queues_room;
	struct set_unread *unread;
	size_t nunread, unread_room;
	struct set_circle *circles;
	size_t ncircles, circles_room;
	struct set_circle_wait *waits;
	size_t nwaits, waits_room;
	struct set_held *held;
	size_t nheld, held_room;
	struct set_queued *queued;
	size_t nqueued, queued_room;
	struct set_filled *filled;
	size_t nfilled, filled_room;
	struct set_parked_list readers;    // of `filled`
	struct set_parked_list parked;     // while main waited for coroutines; none: it did not
	struct set_parked_list resting;    // while main did not, and the program was quiet
	struct witness_item items[PROOFS]; // P0, P5, P6b, of the program as a whole
	uint64_t bad_lines;
	struct slices_set *stacks; // while it is read
};

// No file: an empty one. Stacks go to *stacks.
int set_looks_read(struct set_looks *s, struct slices_set *stacks, int folder, const char *name);
void set_looks_deinit(struct set_looks *s);

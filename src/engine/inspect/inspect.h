// SPDX-License-Identifier: MIT
//
// inspect.h - one inspection of the process: what was read from /proc, the suspects that
// it is about, and the answers for each. The obligations P0 to P6 are those of a lost
// wakeup (ctp/proof.h). Each judge (witness/, memory/reach.c) answers its own, and
// answers HOLDS_TRUE only if it has no doubt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctp/proof.h"
#include "ctp/region.h"
#include "ctp/rules.h"
#include "ctp/seq.h"
#include "search/memory/span.h"
#include "engine/target/proc.h"
#include "engine/target/registrations.h"
#include "engine/target/polled.h"
#include "engine/target/signals.h"

#define INSPECT_TEXT 240
struct inspect_answer {
	enum holds holds; // HOLDS_OPEN: it cannot be told, or nobody has answered
	char text[INSPECT_TEXT];
};

// A coroutine that waits for a descriptor that was closed, or was not woken for one that is open. Region data
// is copied once, and every judge works on the copies.
struct suspect {
	unsigned rule; // enum ctp_rule: what it is suspected of
	uint32_t cand; // index in the table; UINT32_MAX: it is waiting for something that did not end,
		       // and `c` was made up by the engine: fd, gen, epoch, `was` = the entry
	struct ctp_cand c;
	struct ctp_state s;
	int wait;        // index in s.waits, -1 = learned
	uint64_t turns0; // turns of all threads when it was found
	uint64_t found_ns;
	uint64_t next_ns; // not inspected again before
	unsigned inspections;
	unsigned retries; // further ones that could not decide whether it is stuck
	bool shown;       // all that the engine has to show for PROVEN, it has
	bool proven;      // and memory can tell no more: it is not inspected again
	unsigned decided; // enum decided (witness/decided.h), after the last inspection
	unsigned stood;   // so many inspections in succession have decided so
	bool gone;        // refuted: dropped at the next turn
	int ready;        // F is ready for what it waits for: 1, 0, -1 = not known
	bool searched;    // memory told something of it before the program may have begun to end
	bool led_to;      // memory or the kernel held, or may have held, what leads to it, at the last search
			  // before the program may have begun to end
	bool unsearched;  // the last inspection did not search memory: the program did not come to rest
	unsigned ticking; // of a timer that others left disarmed: others made in one place with it that
			  // expire on
	bool unregistered; // F was registered once, and is nowhere now: asked only while it is ready
	bool sent;         // it wrote last, all that it gave, and F is edge-triggered: CTP004
	bool masked;      // its registration asks for nothing, and what it left there to be read speaks for F
	bool wrote;       // it wrote in vain, and is registered for reading only: CTP002
	bool wrong_mask;  // it read in vain, and is registered for neither what comes nor room: CTP002
	bool may_be_left; // P2 is open: only what is there to be read speaks for F (unheard.h)
	bool left;        // and so it was, at two looks at least, for a second
	bool left_timed;  // while threads slept with timeouts, perhaps until some deadline
	uint64_t left_ns; // the first of these; 0: it was not
	uint64_t timer_ns; // the longest of these when last seen; 0: none
	int64_t queued;    // so many bytes it has to be read, where no thread sleeps; 0: that was not asked
	bool put_off;      // its event came, and a timer of the program's may be what its turn waits for
	bool unchecked;    // it is parked, and the search has found no other suspended coroutine either
	bool swept;        // F is open, and the program wakes by itself: it may resume C then
	bool firm;         // it suspended for F, as far as can be known (kernel_stuck.c)
	struct beside {    // another descriptor whose event may resume it: P2 does not hold then
		enum {
			BESIDE_NONE,
			BESIDE_AWAY,  // its registration leads to the coroutine
			BESIDE_THERE, // and the coroutine may wait for it as it waits for F
		} is;
		int fd;
		uint32_t gen;
	} beside;
	bool pooled;   // all that leads to it is a free list of the program's own (memory/cancelled.h)
	bool passed;   // P4 is open for another process alone: its own threads have nothing in flight
	uint64_t said; // digest of the last line about it
	// the inspection under way
	struct inspect_answer a[PROOFS]; // those that proof_is_witnessed()
	struct span mine[2];             // stack and control block, with the allocations that hold them
	bool heap[2];                    // it is a block of the heap
	bool whole[2];                   // it is all of a mapping, since no allocation is known
	unsigned nmine;
	bool mixed; // its memory contains stacks of others: no object of its own
};

// How many objects of the search are its own; 0: its P6A has been answered.
static inline unsigned suspect_objects(const struct suspect *s)
{
	return s->mixed ? 0 : s->nmine;
}

struct inspection;
struct graph;

// What stands in for memory/objects.h where the suspects are no coroutines of the region (stackless/).
struct inspect_others {
	// Finds the suspects anew, in memory that is held. False: it could not.
	bool (*find)(struct inspection *l);
	// All words are known, and what leads where is not: it may take some out, and name memory in which
	// none counts, in disguise either.
	void (*prepare)(struct inspection *l, struct graph *g, struct span_list *unused);
	// What leads where is known: answers P6a of each; a suspect whose `firm` it sets gets the words
	// named.
	void (*answer)(struct inspection *l, struct graph *g);
	void *ctx;
};

#define INSPECT_OPEN_MAX 40
struct inspect_open { // ways by which the program could still resume it
	uint64_t id;  // of the coroutine; 0 = all
	char text[INSPECT_TEXT];
};

enum { HOOK_FRAMES = 1 << 14 }; // between a hook's caller and its system call lie so many bytes at most

struct inspection {
	const struct ctp_region *r;
	pid_t pid;
	bool final, may_stop;
	bool scan;       // memory may be scanned
	bool idle;       // nothing ran for a while before
	bool slept_long; // its loops have slept ten times as long as ever before (witness/long_sleep.h)
	bool disturbed;  // a thread was stopped, or ran, where it mattered
	uint64_t deadline_ns;
	uint64_t cpu_until_ns;              // of ours (clock_cpu_ns); 0: as much as it takes
	uint64_t moves;                     // ctp_region_moves once the threads slept; 0: they may run
	const struct keys *keys;            // that were there before the program
	const struct complete_turns *loops; // of threads that never sleep; NULL: not known
	struct suspect **who;
	size_t n;
	const struct inspect_others *others; // NULL: the suspects are coroutines of the region
	struct proc_tasks tasks;
	struct polled *polled; // by task: what it gave to poll or select
	struct proc_maps maps;
	struct memory memory; // the process's, with these mappings
	struct registrations registrations;
	char hidden[INSPECT_TEXT];  // which open files /proc does not show (hidden_fds.h); empty: none is
				    // known to be hidden
	struct ctp_thread *threads; // copies, by slot; life is LIVE only where it was
	uint32_t nthreads;
	uint64_t scanned_bytes;
	const char *way;         // of `others`: what was not searched, and may lead to any; NULL: nothing
	char sent[INSPECT_TEXT]; // of `others`: what the process may have sent to itself, and may lead to any
	char unsearched[INSPECT_TEXT]; // of `others`: why memory was not searched, though there were no
				       // suspects yet whose answer could say so; empty: it was
	bool stored;                   // what the program has stored in the kernel may lead to any
	bool pools;                    // memory has told which of them stand in a pool of the program's own
	uint64_t turns;
	struct inspect_open *open;
	size_t nopen;
	enum {
		SHARED_NOT_ASKED,
		SHARED,
		SHARED_NOT
	} shared;     // may another process have one of its epoll sets?
	pid_t sharer; // SHARED: which one; -1: that is not known
	int shared_set;
};

// Is its time over? Then what has not been inspected stays open. A live inspection gives way to the final
// one.
bool inspect_late(const struct inspection *l);

// Reads the process. 0 or -errno. deinit takes a zeroed inspection.
int inspect_begin(struct inspection *l);
void inspect_deinit(struct inspection *l);
// Which threads sleep in our hooks, by their present state.
void inspect_mark_hooked(struct inspection *l);
// Copies a thread's entry anew, of one moment; if there was none, as one of which nothing is known.
void inspect_thread(struct inspection *l, uint32_t slot);
// Reads mappings, registrations and thread entries anew. 0 or -errno.
int inspect_again(struct inspection *l);

void inspect_say(struct inspect_answer *a, enum holds holds, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void inspect_say_all(struct inspection *l, enum proof item, enum holds holds, const char *text);
void inspect_open(struct inspection *l, uint64_t id, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

// True if thread `t` is asleep in an epoll wait, or in poll or select, as /proc has it.
bool inspect_in_epoll(const struct proc_task *t);
bool inspect_epoll_call(int64_t nr);
bool inspect_in_set(const struct proc_task *t);
// Does its entry name a hook that may still be on its stack? (A jump may have left the hook.)
static inline bool inspect_in_hook(const struct ctp_thread *c, const struct proc_task *t)
{
	return (c->wait_seq & 1) && c->wait_regs[CTP_REG_SP] >= t->sp &&
	       c->wait_regs[CTP_REG_SP] - t->sp <= HOOK_FRAMES;
}
// Is it asleep in the wait of a loop that its entry names (ctp_wait_call)?
static inline bool inspect_in_wait(const struct proc_task *t, uint32_t call)
{
	return call == CTP_IN_EPOLL ? inspect_in_epoll(t) :
				      (call == CTP_IN_POLL || call == CTP_IN_SELECT) && inspect_in_set(t);
}
// Consistent copy of an fd's entry. False if there is none, or it never stayed the same during a copy.
bool inspect_fd(const struct ctp_region *r, uint64_t fd, struct ctp_fd *out);

// Does the word, without a tag in its upper 16 bits, point into the suspect's memory?
bool inspect_references(const struct suspect *s, uint64_t word);

// Is there another process that may have what this one has open: a child, or its parent?
static inline bool inspect_has_kin(const struct ctp_region *r)
{
	return ctp_load32(&r->ext->forks) || ctp_load32(&r->ext->inherited);
}

// SPDX-License-Identifier: MIT
//
// guest.h - what every file of libctp.so shares: the tracer (one per process),
// the context of each thread, and the way in and out of a hook.
//
// A hook that is an ordinary C function looks like this:
//
//	CTP_HOOK int close(int fd)
//	{
//		struct thread_ctx *g = guest_enter();
//		if (!g)
//			return real_close(fd);
//		... before ...
//		guest_leave(g);          // never across the real call: it may block,
//		int r = real_close(fd);  // switch coroutines, move to another thread
//		g = guest_enter();       // re-read: NULL again means pass through
//		if (g) { int e = errno; ... after ...; errno = e; guest_leave(g); }
//		return r;
//	}
//
// Between enter and leave: no malloc, stdio, lock, abort, nor any libc call
// that is interposed; system calls go through guest_syscall (exit.h) and leave errno alone.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctp/ctp.h"
#include "ctp/region.h"
#include "ctp/ring.h"
#include "ctp/seq.h"
#include "preload/guest/private.h"
#include "preload/guest/tracer.h"

#define CTP_HOOK __attribute__((visibility("default")))
#define CTP_LIKELY(x) __builtin_expect(!!(x), 1)
#define CTP_UNLIKELY(x) __builtin_expect(!!(x), 0)

// A place in the program: where a frame will go on when its callee returns.
struct frame {
	uint64_t pc, sp, fp;
};

// A stack that a hook has named: by what, and who stood there.
struct named_stack {
	uint64_t who, sp;
	const struct candidate *by;
};

enum { GUEST_ALTS = 4, GUEST_LOCKS = 4, GUEST_WINDOW = 16, GUEST_NAMED = 8 };

// A thread context: private memory that fork wipes, so that in a child every
// guard is taken. Offsets up to `argument` are known to assembly (thread_ctx.h).
struct thread_ctx {
	// what every switch needs
	union {
		struct {
			uint32_t guard; // against reentry: 1 = free; 0 = taken, a hook is under way, or not
					// attached
			uint32_t hook;  // the low half of the stack pointer of the hook under way, once it
					// has noted it; and HOOK_HELD (hook_jump.c)
		};
		uint64_t opens; // both: 1 frees the guard, and forgets the hook
	};
	struct ctp_state *current; // the entity that runs; never NULL once attached
	// The slice: what the running entity did since it went on. Set to slice_fresh at
	// every switch by coroutine.c; filled by hook_io.c, hook_epoll.c and their like. 0: nothing
	// that its suspension, or whoever goes on, must know.
	union {
		struct {
			uint8_t nwaits; // registered in this slice
			uint8_t nlocks; // of locks[] (hook_lock.c)
			bool more_waits : 1;
			bool eagain : 1; // the last I/O call said EAGAIN or EINPROGRESS
			bool probed : 1; // and was a poll or select, which counts if nothing was registered
			bool timed : 1;  // in a call that blocks, since timed_since (blocked.h)
			bool keeps;      // saved_slot was set
			bool waiting;    // in a call that is taken for a wait: wait_seq is odd
			bool batch;      // batch_fd was set
			bool never;      // the fast path is not for this thread
		};
		uint64_t slice; // all of these
	};
	struct ctp_thread *thread; // in the region
	struct ctp_record *ring;
	uint64_t ring_mask;
	uint64_t ring_capacity;
	uint64_t stack_top;       // of the private stack on which trampolines call C
	uint64_t regs[CTP_REGS];  // the caller's, stored by the trampoline
	uint64_t *lost;           // the thread's counter, and the region's word of gaps: what a
	uint32_t *gaps;           // signal handler inside a hook switches is missed, and said to be
	uint64_t saved_slot;      // where `current` saved itself last in this slice by a call that returns
	uint64_t saved[CTP_REGS]; // (getcontext, setjmp), with what registers; 0 = not at all
	uint64_t kept_slot;       // the same before the last getcontext, which makecontext may take back
	uint64_t kept[CTP_REGS];
	uint64_t vfork_pc; // where vfork was called
	// The fast path's own
	uint64_t argument;                 // a register
	const struct candidate *candidate; // what names the outgoing coroutine's stack, at
	uint64_t depth;                    // this one
	const struct ctp_site *sites;      // ctp_region.sites
	uint64_t saves_at;                 // the outgoing coroutine's slot
	const struct switcher *instance;   // of a patched function, and two more registers
	uint64_t first, fourth;
	// The clock (clock.h)
	uint32_t clock_mask; // a switch whose record's number has one of these bits takes no reading
	uint32_t clock_next; // what that becomes with the next reading
	uint64_t clock;      // the time that was given out last
	struct ctp_state *window[GUEST_WINDOW]; // who left without a reading, by the number of the record
	uint32_t slot;
	uint64_t rate_head, rate_since; // where the count of records began, and when

	uint64_t slice_fresh;
	uint64_t crowded,
		crowded_since; // entries that had to make room, and switches as of the first (handle_cache.c)
	uint32_t tid;
	struct ctp_state *native; // the thread's own stack
	struct ctp_fd *taken;     // the entry that this thread writes now, if its seq is
	uint32_t taken_seq;       // this one (fds.c)
	struct ctp_state unnamed; // stands for `native` until the thread first switches: id 0
	uint64_t native_top;      // an address above all frames of the thread's own stack
	struct ctp_chunk *chunk;  // --flight: where it writes now
	uint64_t chunk_first;     // number of its first slot

	// Alternate signal stacks that the thread has named last: a coroutine may be born there.
	struct {
		uint64_t lo, hi;
	} alts[GUEST_ALTS];
	uint32_t nalts;
	bool armed; // a handler would run on an alternate stack here (crash_stack.c)

	struct ctp_wait waits[CTP_WAITS];
	const void *locks[GUEST_LOCKS]; // locked in this slice, and not unlocked
	int32_t eagain_fd;
	uint32_t eagain_gen, eagain_events;

	// The last batch of events, for learning which coroutine an fd wakes:
	// set by epoll waits, consumed by the first switch after it.
	int32_t batch_fd; // the only event's fd, or -1
	uint32_t batch_gen;
	// A number of the last batch that was closed since and opened anew: its event may be in hand still.
	uint64_t timed_since;
	uint64_t batch_time; // when the batch came
	uint64_t ended_time; // when a closing call of this thread had returned last, or it began
	int32_t anew_fd;     // -1: none
	uint32_t anew_gen;   // the new generation

	// What was found for a switch, if it runs already or lives no more: the same, and where it would go
	// on.
	struct {
		const struct ctp_state *who;
		uint64_t sp, pc, slot;
	} late;
	uint64_t handed; // to whom the last ontop_fcontext entered
	struct {
		uint64_t pc;
		int lo, hi;
	} refused; // numbers in a row that close refused there (fd_bad.c)

	// Copies of what the tracer has, nearer at hand (hook.h)
	struct ctp_fd *fds;
	uint32_t fds_max; // 0 under a version-1 engine, which has no tables
	bool plain;       // it has tables, and every switch reads the clock (clock_next is 0)
	const struct ctp_ext *ext;

	struct named_stack named[GUEST_NAMED]; // by return address: the last ones (stacks.h)

	struct thread_ctx *volatile
		*self; // the thread's own word that says that this is its context (thread.c)
};

// ---------------------------------------------------------------- in and out

// The thread's context if a hook may work now, with its guard taken; else NULL:
// call the real function and nothing else. (thread.c)
struct thread_ctx *guest_enter(void);

static inline void guest_leave(struct thread_ctx *g)
{
	ctp_signal_fence();
	g->opens = 1;
}

// The calling thread's context, taken now; NULL if not attached or no slot is
// free. Called where guest_enter and the trampolines find none. (thread.c)
struct thread_ctx *thread_start(void);

// ---------------------------------------------------------------- what to use

uint64_t guest_now(void);     // ticks: a reading, an even number (emit.c)
uint64_t guest_mono_ns(void); // CLOCK_MONOTONIC (emit.c)

// Id of the entity that runs on this thread. (coroutine.c)
static inline uint64_t guest_who(const struct thread_ctx *g)
{
	return g->current->id;
}

// Id of the stack that has `f` as its innermost frame; 0 if it is not known. (stacks.c)
uint32_t guest_stack(struct thread_ctx *g, const struct frame *f);

// Appends a record to the thread's ring, stamped now. (emit.c)
void emit(struct thread_ctx *g, uint64_t w1, uint64_t w2, uint64_t w3);
void emit_at(struct thread_ctx *g, uint64_t now, uint64_t w1, uint64_t w2,
	     uint64_t w3); // the time is known already
// Wakes the engine if it sleeps. (emit.c)
void emit_wake(void);

// Zeroed memory that is never given back; NULL when used up. (memory.c)
void *memory_take(uint64_t bytes);
void memory_init(void); // the region is a fresh one

// ---------------------------------------------------------------- fds.c offers

// Called by coroutine.c while the outgoing coroutine's state is being written: puts the
// slice's waits into `s` (waits, nwaits, flags) and links them from the fds.
void fds_suspend(struct thread_ctx *g, struct ctp_state *s);
// Called when `s`, which had waits, goes on.
void fds_resume(struct thread_ctx *g, struct ctp_state *s);
// Would fds_suspend, were fd all that s waits for, as it has declared, leave everything as it is?
bool fds_waits_again(const struct ctp_state *s, int fd, uint32_t events);
// And fds_resume?
bool fds_resumes_plainly(const struct thread_ctx *g, const struct ctp_state *s);

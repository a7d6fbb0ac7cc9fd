// SPDX-License-Identifier: MIT
//
// fds_plain.h - what nearly every close does, in line: of one number that is known to be open, and for or
// through which nobody waits. fds.c has all else.
#pragma once

#include "preload/coroutine/stacks.h"
#include "preload/fds/fds.h"
#include "preload/guest/emit.h"

// The ending mark: how many closing calls of the present generation are under way (or were cancelled). The
// next begins with none. The entry is taken.
static inline bool fds_marked(const struct ctp_fd *e)
{
	return fd_private(e)->ending;
}

static inline void fds_mark(struct ctp_fd *e)
{
	fd_private(e)->ending++;
}

static inline void fds_unmark(struct ctp_fd *e)
{
	if (fds_marked(e))
		fd_private(e)->ending--;
}

static inline __attribute__((always_inline)) void fds_note_end(struct ctp_fd *e, uint32_t gen,
							       const struct fd_death *d, uint64_t epoch)
{
	e->stale = 0;
	e->closed_how = d->call;
	e->closed = d->time;
	e->closer = d->closer;
	e->closer_stack = d->stack;
	ctp_poke(&e->closed_gen, gen);
	e->closed_epoch = epoch;
}

// Closes the present generation, whose registration leads to `whose`. e is taken.
static inline __attribute__((always_inline)) void fds_end_present(struct ctp_fd *e, uint32_t gen,
								  uint64_t whose, const struct fd_death *d,
								  uint64_t epoch)
{
	ctp_poke(&e->life, CTP_FD_CLOSED);
	ctp_poke(&e->flags, e->flags & ~CTP_FD_NONBLOCK);
	e->closed_owner = whose;
	e->closed_desc = e->desc;
	fds_note_end(e, gen, d, epoch);
}

// At the time that the tables say, too: one reading of the clock for both.
static inline void fds_emit(struct thread_ctx *g, unsigned kind, const struct fd_death *d, int fd,
			    uint32_t gen)
{
	emit_two(g, d->time, ctp_w1(kind, d->call, d->closer), ctp_w2(0, d->stack),
		 (uint32_t)fd | (uint64_t)gen << 32);
}

// Before the call. False: it is not so, and nothing was done. *gen: the generation that ends.
static inline __attribute__((always_inline)) bool fds_ending_plainly(struct thread_ctx *g, int fd,
								     uint32_t *gen)
{
	struct ctp_fd *e = fds_entry_by(g, fd);
	if (!e || !fds_take_free(g, e))
		return false;
	bool plain = e->life == CTP_FD_OPEN && !(e->flags & (CTP_FD_LISTENS | CTP_FD_ROWS)) &&
		     fd_waits_never(e);
	if (CTP_LIKELY(plain)) {
		fds_mark(e);
		*gen = e->gen;
	}
	fds_give_by(g, e);
	return plain;
}

// After it, if that was so before. False: it is so no more, and nothing was done.
static inline __attribute__((always_inline)) bool fds_ended_plainly(struct thread_ctx *g, int fd,
								    uint32_t gen, enum ctp_fd_call call,
								    const struct frame *f)
{
	struct ctp_fd *e = &g->fds[fd];
	uint32_t stack = stacks_named(g, f);
	if (!stack || !fds_take_free(g, e))
		return false;
	struct fd_death d = {.call = call, .time = emit_now(), .closer = guest_who(g), .stack = stack};
	bool plain = e->gen == gen && e->life == CTP_FD_OPEN && fd_waits_never(e);
	if (CTP_LIKELY(plain)) {
		g->ended_time = d.time;
		fds_unmark(e);
		fds_end_present(e, gen, 0, &d, 0); // it has no registration
	}
	fds_give_by(g, e);
	if (CTP_LIKELY(plain))
		fds_emit(g, CTP_EV_FD_CLOSE, &d, fd, gen);
	return plain;
}

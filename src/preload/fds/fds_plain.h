// SPDX-License-Identifier: MIT
//
// fds_plain.h - what nearly every call does that opens or closes, in line: of one number, and for or through
// which nobody waits. fds.c has all else.
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

// The next generation, open; all else is not known yet. b: by which call, and where. The caller has taken e;
// what others read without taking it is written by ctp_poke.
static inline __attribute__((always_inline)) void fds_renew(struct ctp_fd *e, uint64_t now,
							    const struct fd_birth *b, uint64_t who,
							    uint32_t stack)
{
	ctp_poke(&e->gen, e->gen + 1);
	ctp_poke(&e->life, CTP_FD_OPEN);
	ctp_poke(&e->kind, b->kind);
	e->opened_how = b->call;
	ctp_poke(&e->flags, b->nonblock ? CTP_FD_NONBLOCK : 0);
	uint64_t birth = ctp_add64(&ctp_tracer->region.ext->next_desc, 1) + 1;
	ctp_poke(&e->desc, birth);
	e->peer_desc = 0;
	e->opened = now;
	e->opener = who;
	e->opener_stack = stack;
	ctp_poke(&e->reg_epfd, -1);
	ctp_poke(&e->reg_data, 0);
	e->reg_events = e->reg_epgen = 0;
	e->reg_by = e->reg_time = 0;
	e->waiter[0] = e->waiter[1] = e->leads = 0;
	e->learned = e->event_time = e->adder = 0;
	e->learned_stack = 0;
	e->polled = e->polled_out = 0;
	e->last_in = e->last_out = e->herd = 0;
	ctp_poke(&e->latest, 0);
	e->set_stack = 0;
	*fd_private(e) = (struct fd_private){.birth = birth};
}

// An event of the last batch is of this number: it may be in hand still.
static inline bool fds_batch_has(const struct thread_ctx *g, const struct ctp_fd *e)
{
	return CTP_UNLIKELY(e->event_time && e->event_time == g->batch_time);
}

// What nearly every opening is: of a number that is free as far as is known, where one was opened before.
// False: it is not so, and nothing was done.
static inline __attribute__((always_inline)) bool fds_opened_plainly(struct thread_ctx *g, int fd,
								     const struct fd_birth *b)
{
	if ((uint64_t)fd > ctp_load64(&g->ext->fd_high)) // it is below fds_max
		return false;
	struct ctp_fd *e = &g->fds[fd];
	const struct candidate *named = stacks_named(g, &b->frame);
	if (!named || !fds_take_free(g, e))
		return false;
	uint32_t stack = named->stack;
	struct fd_death d = {.call = b->call, .time = emit_now(), .closer = guest_who(g), .stack = stack};
	bool plain = e->life != CTP_FD_OPEN && !fds_batch_has(g, e);
	if (CTP_LIKELY(plain))
		fds_renew(e, d.time, b, d.closer, stack);
	uint32_t gen = e->gen;
	fds_give_by(g, e);
	if (CTP_LIKELY(plain))
		fds_emit(g, CTP_EV_FD_OPEN, &d, fd, gen);
	return plain;
}

// Before the call. False: it is not so, and nothing was done. *gen: the generation that ends.
static inline __attribute__((always_inline)) bool fds_ending_plainly(struct thread_ctx *g, int fd,
								     uint32_t *gen)
{
	if ((uint32_t)fd >= g->fds_max)
		return false;
	struct ctp_fd *e = &g->fds[fd];
	if (!fds_take_free(g, e))
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
	const struct candidate *named = stacks_named(g, f);
	if (!named || !fds_take_free(g, e))
		return false;
	struct fd_death d = {.call = call, .time = emit_now(), .closer = guest_who(g), .stack = named->stack};
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

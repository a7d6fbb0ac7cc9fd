// SPDX-License-Identifier: MIT
//
// Who is parked. A scheduler of coroutines resumes main, too: while main waits for a fiber's end, its own
// stack is suspended, and a coroutine runs on its thread. If every thread then sleeps for good, and nothing
// outside can wake one, main and all that are parked wait for each other (CTP003). Where main is not
// suspended, but sleeps for good as well, nobody will resume them either; whether they have something to do
// is not known.
#include "engine/sets/set_parked.h"

#include <jansson.h>

#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/sets/set_line.h"

enum { OPEN_STACK_MOST = 1 << 20 };

// Of a stack whose end is not known, that of State Threads, only what is in use counts.
static bool on_its_stack(struct ctp_state *c)
{
	uint64_t sp = c->regs[CTP_REG_SP];
	if (c->lo == c->hi && sp < c->hi && c->hi - sp <= OPEN_STACK_MOST)
		c->lo = sp;
	return c->lo && sp >= c->lo && sp < c->hi;
}

bool set_suspended(const struct ctp_region *r, uint64_t i, struct ctp_state *c)
{
	const struct ctp_state *s = &r->states[i];
	return s->life == CTP_SUSPENDED && s->entity == CTP_COROUTINE &&
	       ctp_load32(&s->owner) == CTP_OWNER_GUEST && ctp_state_read(s, c) && c->life == CTP_SUSPENDED &&
	       c->entity == CTP_COROUTINE && c->runs && !(c->flags & CTP_STATE_SHARED_STACK) &&
	       on_its_stack(c);
}

bool set_parked(const struct ctp_region *r, uint64_t i, struct ctp_state *c)
{
	return !r->states[i].nwaits && set_suspended(r, i, c) && !c->nwaits &&
	       !(c->flags & CTP_STATE_MOREWAITS);
}

bool set_parked_registered(const struct inspection *l, const struct ctp_state *s)
{
	for (size_t i = 0; l && i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (!(reg->events & CTP_REG_EVENTS) || reg->tfd < 0 || (uint32_t)reg->tfd >= l->r->fds_max)
			continue;
		const struct ctp_fd *f = &l->r->fds[reg->tfd];
		if (f->adder == s->id || f->learned == s->id || (f->leads & CTP_ID_MASK) == s->id)
			return true;
	}
	return false;
}

bool set_main_waits(const struct ctp_region *r, pid_t pid)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	for (uint32_t i = 0; i < n && i < r->threads_max; i++) {
		const struct ctp_thread *t = &r->threads[i];
		if (ctp_load32(&t->life) == CTP_THREAD_LIVE && t->tid == (uint32_t)pid)
			return t->native && t->current && t->current != t->native;
	}
	return false;
}

static void write_parked(FILE *out, const struct inspection *l, const char *what)
{
	struct ctp_walk w = ctp_walk_states(l->r);
	json_t *who = json_array();
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n && json_array_size(who) < SET_PARKED_MOST;
	     i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state c;
		if (set_parked(l->r, i, &c) && !set_parked_registered(l, &c))
			json_array_append_new(who,
					      json_pack("[I, I]", (json_int_t)c.id, (json_int_t)c.changes));
	}
	set_line(out, json_pack("{s:i, s:s, s:o}", "v", 1, "what", what, "parked", who));
}

void set_main_waiting(FILE *out, const struct inspection *l)
{
	if (set_main_waits(l->r, l->pid))
		write_parked(out, l, "main");
}

// A descriptor that an epoll set watches, and that something else than the program's code may make ready.
static bool is_watched(const struct ctp_fd *f)
{
	return f->life == CTP_FD_OPEN && f->reg_epfd >= 0 && (f->reg_events & CTP_REG_EVENTS) &&
	       (f->kind == CTP_FD_TCP || f->kind == CTP_FD_UDP || f->kind == CTP_FD_SIGNALFD ||
		f->kind == CTP_FD_TIMERFD ||
		((f->kind == CTP_FD_UNIX || f->kind == CTP_FD_PIPE) && !f->peer_desc));
}

bool set_parked_may_rest(const struct ctp_region *r)
{
	struct ctp_walk fds = ctp_walk_fds(r), states = ctp_walk_states(r);
	struct ctp_state c;
	bool any = false;
	for (uint64_t i = ctp_walk_from(&states, 0); !any && i < states.n; i = ctp_walk_from(&states, i + 1))
		any = set_parked(r, i, &c);
	for (uint64_t fd = ctp_walk_from(&fds, 0); any && fd < fds.n; fd = ctp_walk_from(&fds, fd + 1))
		any = !is_watched(&r->fds[fd]);
	return any;
}

void set_parked_resting(FILE *out, const struct inspection *l)
{
	if (!set_main_waits(l->r, l->pid) && set_parked_may_rest(l->r))
		write_parked(out, l, "rest");
}

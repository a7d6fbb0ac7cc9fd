// SPDX-License-Identifier: MIT
//
// P2: is the wait for F the coroutine's one known wait? Its registration must be known to lead to it; and no
// other row, wait of its own or open descriptor may.
#include "engine/witness/one_wait.h"

#include "base/search.h"
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "ctp/wait_inference.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/witness/beside.h"

static const struct ctp_wait *wait_of(const struct suspect *s)
{
	return s->wait >= 0 ? &s->s.waits[s->wait] : NULL;
}

// It has had something of F, and did not say that it wants more.
static bool may_be_done(const struct suspect *s)
{
	return ctp_may_be_done(&s->c.was, &s->s, wait_of(s));
}

// How the registration of F leads to C; NULL if it is not known to. Partner: leads() in obligations_wait.c.
static const char *link_of(const struct suspect *s)
{
	static const char *const texts[] = {
		[CTP_LINK_OWN] = "it registered the descriptor itself before it suspended",
		[CTP_LINK_SET] =
			"it stood in a set that was polled after it suspended, and events of it resumed it before",
		[CTP_LINK_DATA] = "the registration's data points into its memory",
		[CTP_LINK_EVENTS] = "events of the descriptor resumed it before",
		[CTP_LINK_CONTEXT] = "the registration's data points to what holds its context",
	};
	const struct ctp_fd *f = &s->c.was;
	const struct ctp_link_seen seen = {
		.registered = f->reg_epfd >= 0,
		.polled = f->polled > ctp_state_latest(&s->s) || f->polled_out > ctp_state_latest(&s->s),
		.points_in = inspect_references(s, f->reg_data),
	};
	enum ctp_link link = ctp_wait_link(f, &s->s, wait_of(s), &seen);
	return link == CTP_LINK_NONE || (link != CTP_LINK_OWN && may_be_done(s)) ? NULL : texts[link];
}

// Another live row that leads to C.
static const struct registration *other_registration(const struct inspection *l, const struct suspect *s)
{
	bool has = s->c.was.reg_epfd >= 0;
	uint64_t data = s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REGISTERED) ?
				s->s.waits[s->wait].data :
				s->c.was.reg_data;
	has |= s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REGISTERED);
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (s->c.call == CTP_CALL_EPOLL_MOD && reg->tfd == s->c.fd)
			continue; // its own, masked
		if ((has && reg->data == data) || inspect_references(s, reg->data))
			return reg;
	}
	return NULL;
}

const struct ctp_wait *one_wait_other(const struct inspection *l, const struct suspect *s)
{
	for (uint32_t i = 0; i < s->s.nwaits && i < CTP_WAITS; i++) {
		const struct ctp_wait *w = &s->s.waits[i];
		struct ctp_fd f;
		if (w->fd == s->c.fd && w->gen == s->c.gen)
			continue;
		if (w->fd >= 0 && inspect_fd(l->r, (uint64_t)w->fd, &f) && f.gen == w->gen &&
		    f.life == CTP_FD_OPEN)
			return w;
	}
	return NULL;
}

// Another row, or another wait of its own, that leads to C.
static void others_beside(struct inspection *l, struct suspect *s)
{
	const struct registration *reg = other_registration(l, s);
	const struct ctp_wait *w = one_wait_other(l, s);
	struct ctp_fd f = {0};
	if (w)
		beside_note(l, s, w->fd, w->gen, !ctp_told_alone(wait_of(s), w), "open",
			    "it waits for that one as well");
	if (!reg)
		return;
	bool known = inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) && f.life == CTP_FD_OPEN;
	beside_note(l, s, reg->tfd, known ? f.gen : 0, known && beside_there(&f, &s->s), "registered",
		    "its data leads to it");
}

void one_wait_judge(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P2];
	const char *how = link_of(s);
	if (s->s.flags & CTP_STATE_MOREWAITS)
		inspect_say(a, HOLDS_FALSE, "it waits for more things than were kept");
	else if (ctp_in_pool(&s->s))
		inspect_say(
			a, HOLDS_OPEN,
			"events of other descriptors resumed it here before: it may not wait for fd %d#%u",
			s->c.fd, s->c.gen);
	else if (!how && may_be_done(s))
		inspect_say(a, HOLDS_OPEN,
			    "it got something from fd %d#%u, and did not try again: it may be done with it",
			    s->c.fd, s->c.gen);
	else if (!how)
		inspect_say(a, HOLDS_OPEN, "no registration of fd %d#%u is known to lead to it%s", s->c.fd,
			    s->c.gen,
			    s->c.was.polled > ctp_state_latest(&s->s) ||
					    s->c.was.polled_out > ctp_state_latest(&s->s) ?
				    ", but it stood in a set that was polled after it suspended" :
				    "");
	else if (!l->registrations.complete)
		inspect_say(a, HOLDS_OPEN, "%s; whether another does too could not be read", how);
	else
		inspect_say(a, HOLDS_TRUE, "fd %d#%u is its one known wait: %s", s->c.fd, s->c.gen, how);
	others_beside(l, s);
}

// An open descriptor that leads to C as well: registered, and C added it in any
// slice, or it woke it here before; or polled since C suspended, and it woke it here before.
static void others_of(struct inspection *l, uint64_t id, int fd, const struct ctp_fd *f, bool learned,
		      const char *how)
{
	size_t lo = FIRST_NOT(l->n, i, l->who[i]->s.id < id);
	for (; lo < l->n && l->who[lo]->s.id == id; lo++) {
		struct suspect *s = l->who[lo];
		bool through = s->rule == RULE_SET_CLOSED && f->reg_epfd == s->c.fd &&
			       f->reg_epgen == s->c.gen;
		bool there = beside_there(f, &s->s);
		if (stuck_wait_is(s) || through || (fd == s->c.fd && f->gen == s->c.gen) ||
		    (learned && !there))
			continue;
		if (f->reg_epfd >= 0 || f->polled > s->s.since || f->polled_out > s->s.since)
			beside_note(l, s, fd, f->gen, there, f->reg_epfd >= 0 ? "registered" : "polled", how);
	}
}

void one_wait_unsettle(struct inspection *l, bool stuck)
{
	for (size_t i = 0; i < l->n; i++)
		if (stuck_wait_is(l->who[i]) == stuck && l->who[i]->a[PROOF_P2].holds == HOLDS_TRUE)
			inspect_say(&l->who[i]->a[PROOF_P2], HOLDS_OPEN,
				    "there was no time to look at every registration");
}

void one_wait_others(struct inspection *l)
{
	struct ctp_walk w = ctp_walk_fds(l->r);
	for (uint64_t fd = ctp_walk_from(&w, 0); fd < w.n; fd = ctp_walk_from(&w, fd + 1)) {
		struct ctp_fd f;
		if (w.rows % 4096 == 0 && inspect_late(l)) {
			one_wait_unsettle(l, false);
			return;
		}
		if (l->r->fds[fd].life != CTP_FD_OPEN || !inspect_fd(l->r, fd, &f) || f.life != CTP_FD_OPEN ||
		    (f.reg_epfd < 0 && !f.polled && !f.polled_out))
			continue;
		if (f.adder)
			others_of(l, f.adder, (int)fd, &f, false, "it added that one itself");
		if (f.learned)
			others_of(l, f.learned, (int)fd, &f, true,
				  "events of that one resumed it here before");
		if (f.leads)
			others_of(l, f.leads & CTP_ID_MASK, (int)fd, &f, f.learned == (f.leads & CTP_ID_MASK),
				  "its data leads to it");
	}
}

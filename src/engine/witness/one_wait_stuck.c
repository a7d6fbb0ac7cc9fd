// SPDX-License-Identifier: MIT
//
// P2 of coroutines whose descriptor is open: is it the one known wait of the coroutine? A row of another
// descriptor that is armed, and leads to one of them, is a way out.
#include "engine/witness/one_wait_stuck.h"

#include "base/search.h"
#include "ctp/wait_inference.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/witness/beside.h"
#include "engine/witness/one_wait.h"

bool one_wait_stuck_row(const struct inspection *l, const struct suspect *s, const struct registration *reg)
{
	struct ctp_fd f;
	if (reg->tfd == s->c.fd)
		return registrations_is_open_as(l->pid, reg, s->c.fd) == 1;
	if (reg->ino != s->c.ino || // of most rows, and the cheapest to see
	    (inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) && f.life == CTP_FD_OPEN &&
	     f.desc != s->c.was.desc))
		return false;
	return registrations_is_open_as(l->pid, reg, s->c.fd) == 1;
}

uint64_t one_wait_stuck_data(const struct suspect *s)
{
	const uint32_t said = CTP_WAIT_REGISTERED | CTP_WAIT_REFUSED;
	return s->wait >= 0 && (s->s.waits[s->wait].how & said) ? s->s.waits[s->wait].data :
								  s->c.was.reg_data;
}

static const char *link_of(const struct suspect *s, pid_t pid)
{
	const struct ctp_fd *f = &s->c.was;
	bool firm = stuck_wait_firm(s, pid);
	if (stuck_wait_full(s))
		return "its last accept of it found no descriptor free";
	if (s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REFUSED))
		return "its last try had to wait, and it meant to register it";
	if (firm && s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REGISTERED))
		return "it registered the descriptor itself before it suspended";
	if (ctp_stands_there(f, &s->s))
		return "an event of it resumed it from this very place before";
	if (ctp_waits_as_first(f, s->c.fd, &s->s, s->wait >= 0 ? &s->s.waits[s->wait] : NULL))
		return "it stands where it first waited for it, wants more of it, and the registration leads to it";
	if (firm && (f->flags & CTP_FD_REFUSED))
		return "its last try had to wait, and it was meant to be registered when it had suspended";
	if (firm)
		return "it was registered on its behalf when it had suspended";
	if (s->sent)
		return "an event of it resumed it elsewhere, and its last write took all that it was given";
	if (ctp_stopped_short(f, &s->s) || ctp_left_unread(f, &s->s))
		return "an event of it resumed it elsewhere, and it read some of it, but not until EAGAIN";
	if (ctp_left_refused(f, &s->s))
		return "it alone has used it, and it was meant to be registered as it suspended";
	if (inspect_references(s, f->reg_data) || (f->leads & CTP_ID_MASK) == s->s.id)
		return "its last try had to wait, and the registration's data leads to it";
	if (s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REGISTERED))
		return "it registered the descriptor itself, and its events led elsewhere";
	return f->learned == s->s.id ? "its last try had to wait, and events of it resumed it before" : NULL;
}

void one_wait_stuck_judge(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P2];
	if (s->rule == RULE_PARKED) {
		inspect_say(a, HOLDS_OPEN, "it has no known wait");
		return;
	}
	const struct ctp_wait *w = one_wait_other(l, s);
	const char *how = link_of(s, l->pid);
	s->firm = stuck_wait_firm(s, l->pid);
	const struct ctp_wait *own = s->wait >= 0 ? &s->s.waits[s->wait] : NULL;
	if (s->s.flags & CTP_STATE_MOREWAITS)
		inspect_say(a, HOLDS_FALSE, "it waits for more things than were kept");
	else if (w && !ctp_told_alone(own, w))
		inspect_say(a, HOLDS_FALSE, "it waits for fd %d#%u as well, which is open", w->fd, w->gen);
	else if (!how || !s->firm)
		inspect_say(a, HOLDS_OPEN, "%s: that it suspended for fd %d#%u is not sure",
			    how ? how : "its last try had to wait", s->c.fd, s->c.gen);
	else
		inspect_say(a, HOLDS_TRUE, "fd %d#%u is its one known wait: %s", s->c.fd, s->c.gen, how);
	if (w && a->holds != HOLDS_FALSE)
		beside_note(l, s, w->fd, w->gen, false, "open", "it registered that one as well");
}

// Of these rules another way refutes all: who waits for nothing that is known, for a timer of its own, or for
// what another was woken for, may well wait for that.
static bool refuted_by_others(const struct suspect *s)
{
	return s->rule == RULE_PARKED || s->rule == RULE_TIMER || s->rule == RULE_SIGNAL ||
	       s->rule == RULE_WRONG_WAITER;
}

// f: the entry of the row's number; its row leads to the coroutine `id`.
static void led_by(struct inspection *l, uint64_t id, const struct registration *reg, const struct ctp_fd *f,
		   bool learned, const char *how)
{
	size_t lo = FIRST_NOT(l->n, i, l->who[i]->s.id < id);
	for (; lo < l->n && l->who[lo]->s.id == id; lo++) {
		struct suspect *s = l->who[lo];
		bool there = beside_there(f, &s->s);
		if (!stuck_wait_is(s) || s->a[PROOF_P2].holds == HOLDS_FALSE ||
		    (s->c.fd >= 0 && one_wait_stuck_row(l, s, reg)))
			continue;
		if (refuted_by_others(s))
			inspect_say(&s->a[PROOF_P2], HOLDS_FALSE,
				    "fd %d in epoll fd %d is registered as well, and %s", reg->tfd, reg->epfd,
				    how);
		else if (there || !learned)
			beside_note(l, s, reg->tfd, f->gen, there, "registered", how);
	}
}

static bool references(const struct suspect *s, const struct registration *reg)
{
	return stuck_wait_is(s) && s->c.fd != reg->tfd &&
	       (inspect_references(s, reg->data) ||
		(s->c.fd >= 0 && s->rule != RULE_WRONG_WAITER && reg->data == one_wait_stuck_data(s)));
}

void one_wait_stuck_others(struct inspection *l)
{
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		struct ctp_fd f = {0};
		if (inspect_late(l)) {
			one_wait_unsettle(l, true);
			return;
		}
		if (!(reg->events & CTP_REG_EVENTS))
			continue;
		bool open = inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) && f.life == CTP_FD_OPEN;
		f = open ? f : (struct ctp_fd){0};
		for (size_t k = 0; k < l->n; k++)
			if (references(l->who[k], reg))
				led_by(l, l->who[k]->s.id, reg, &f, false, "its data leads to it");
		if (f.adder)
			led_by(l, f.adder, reg, &f, false, "it added that one itself");
		if (f.learned && !(f.flags & CTP_FD_LISTENS))
			led_by(l, f.learned, reg, &f, true, "events of that one resumed it here before");
		if (f.leads)
			led_by(l, f.leads & CTP_ID_MASK, reg, &f, f.learned == (f.leads & CTP_ID_MASK),
			       "its data leads to it");
	}
}

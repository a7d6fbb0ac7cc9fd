// SPDX-License-Identifier: MIT
//
// P2, of a descriptor that ended: a registration of it, or a place in a polled set, led to the coroutine, and
// no other does. What another descriptor may be to it is `beside`.
#include "analyze/case/obligations_own.h"

#include "ctp/late.h"
#include "ctp/polled.h"
#include "ctp/wait_inference.h"

// Its last read or write of the descriptor had to wait.
static bool said_eagain(const struct suspect *s)
{
	return s->wait && (s->wait->how & CTP_WAIT_EAGAIN);
}

// Stood the descriptor in a set given to poll or select after the coroutine
// suspended, for what it waits for? Its number may stand there still when it is closed.
static bool was_polled(const struct suspect *s)
{
	const struct ctp_fd *was = &s->cand->was, *now = image_fd(s->image, s->cand->fd);
	bool out = s->wait && (s->wait->events & CTP_POLLED_OUT), in = !s->wait || !out;
	now = now && now->gen == s->cand->gen ? now : was;
	uint64_t left = ctp_state_latest(s->state);
	return (in && (was->polled > left || now->polled > left)) ||
	       ((out || !s->wait) && (was->polled_out > left || now->polled_out > left));
}

// It has had something of the descriptor, and did not say that it wants more.
static bool may_be_done(const struct suspect *s)
{
	return ctp_may_be_done(&s->cand->was, s->state, s->wait);
}

// Does a row of the descriptor, or a place in a polled set, lead to the coroutine? Partner: link_of() in
// engine/witness/kernel.c. What the engine saw in memory counts as data that points there; a context nearby
// alone does not.
static enum holds leads(const struct suspect *s)
{
	const struct ctp_state *c = s->state;
	const struct ctp_fd *was = &s->cand->was;
	const struct ctp_cand *del = image_del_of(s->image, s->cand->fd, s->cand->gen);
	bool own = s->wait && (s->wait->how & CTP_WAIT_REGISTERED);
	if (!own && was->reg_epfd < 0 && !(was->flags & CTP_FD_MANYREGS) && del && del != s->cand)
		was = &del->was;
	const struct ctp_link_seen see = {
		.registered = was->reg_epfd >= 0 || (was->flags & CTP_FD_MANYREGS),
		.polled = was_polled(s),
		.points_in = seen(s, PROOF_P2) == HOLDS_TRUE ||
			     (was->reg_data >= c->lo && was->reg_data < c->hi),
	};
	const struct ctp_fd *from =
		see.registered ? was : &s->cand->was; // polled sets are noted in the entry at its end
	enum ctp_link link = ctp_wait_link(from, c, s->wait, &see);
	if (link == CTP_LINK_OWN)
		return ctp_in_pool(c) ? HOLDS_OPEN : HOLDS_TRUE;
	bool resumed = from->learned == c->id;
	if (see.registered && (resumed || (!from->learned && from->learned_stack)) &&
	    !ctp_waits_there(from, c, s->wait))
		return HOLDS_FALSE; // its events found it, or somebody, elsewhere: it waits for something
				    // else here
	if (link != CTP_LINK_NONE && link != CTP_LINK_CONTEXT)
		return may_be_done(s) || ctp_in_pool(c) ? HOLDS_OPEN : HOLDS_TRUE;
	if (!see.registered)
		return said_eagain(s) && (resumed || see.polled) ? HOLDS_OPEN : HOLDS_FALSE;
	return from->adder == c->id || said_eagain(s) ? HOLDS_OPEN : HOLDS_FALSE;
}

// Are all its waits for this descriptor? false: another one is alive. told: EAGAIN told it to wait for this
// one alone, all the same.
static enum holds only_wait(const struct suspect *s, bool *told)
{
	enum holds only = HOLDS_TRUE;
	*told = true;
	for (unsigned i = 0; i < image_nwaits(s->state); i++) {
		const struct ctp_wait *w = &s->state->waits[i];
		if (w->fd == s->cand->fd && w->gen == s->cand->gen)
			continue;
		if (!image_end_of(s->image, w->fd, w->gen)) {
			only = HOLDS_FALSE;
			*told &= ctp_told_alone(s->wait, w);
		} else if (only == HOLDS_TRUE) {
			only = HOLDS_OPEN;
		}
	}
	return only;
}

// Did events of it resume this entity, or did nobody else read or write it?
static bool is_users(const struct ctp_fd *f, uint64_t id)
{
	uint64_t in = f->last_in, out = f->last_out;
	return f->learned == id || ((in || out) && (!in || in == id) && (!out || out == id));
}

// Its last try, of another that is open, had to wait. It registered this one for somebody else, who has used
// it, and closed it then.
static bool was_closers(const struct suspect *s)
{
	const struct ctp_cand *end = s->cand;
	if (!s->wait || said_eagain(s) || !end->closer || !is_users(&end->was, end->closer))
		return false;
	for (unsigned i = 0; i < image_nwaits(s->state); i++) {
		const struct ctp_wait *w = &s->state->waits[i];
		if (!image_end_of(s->image, w->fd, w->gen) && ctp_told_alone(w, s->wait))
			return true;
	}
	return false;
}

void obligations_beside(struct obligations *o, const struct suspect *s, enum beside is)
{
	const struct witness_beside *seen = s->witness ? &s->witness->beside : NULL;
	if (seen && seen->is && is < BESIDE_THERE)
		is = seen->there ? BESIDE_THERE : BESIDE_AWAY;
	o->beside = is;
	if (is != BESIDE_NONE && o->items[PROOF_P2].holds == HOLDS_TRUE)
		say(o, PROOF_P2, HOLDS_OPEN, "another open descriptor leads to it as well");
	if (is != BESIDE_NONE && !(seen && seen->is))
		o->also_open =
			"an event of another descriptor that it registered, or that woke it here before";
}

// Its last try, of this descriptor and no other, had to wait, and somebody had registered that for such an
// event.
static bool told_alone(const struct suspect *s)
{
	const struct ctp_fd *was = &s->cand->was;
	return said_eagain(s) && image_nwaits(s->state) == 1 && was->reg_epfd >= 0 &&
	       (was->reg_events & s->wait->events & (EPOLLIN | EPOLLOUT));
}

// Its wait's one registration was in the set that ended. Others, in other sets, the witness has looked for.
static void decide_through(struct obligations *o, const struct suspect *s)
{
	if (s->state->flags & CTP_STATE_MOREWAITS)
		say(o, PROOF_P2, HOLDS_FALSE, "it waits for more things than were kept");
	else if (!s->witness)
		say(o, PROOF_P2, HOLDS_OPEN, "whether another registration leads to it was not looked at");
	obligations_beside(o, s, BESIDE_NONE);
}

void obligations_wait(struct obligations *o, const struct suspect *s)
{
	o->pooled = ctp_in_pool(s->state);
	if (s->through) {
		decide_through(o, s);
		return;
	}
	bool registered = s->wait && (s->wait->how & CTP_WAIT_REGISTERED), same_number = false;
	uint64_t data = registered ? s->wait->data : s->cand->was.reg_data;
	if (!registered && !ctp_was_registered(&s->cand->was))
		data = s->state->lo; // it was never registered: nobody's data
	const struct ctp_fd *other =
		image_other_registration(s->image, s->state, data, s->cand->fd, &same_number);
	if (same_number && s->cand->call == CTP_CALL_EPOLL_MOD) { // its own, masked
		other = NULL;
		same_number = false;
	}
	bool told = true, beside = other && !same_number;
	enum holds led = leads(s), only = only_wait(s, &told);
	o->told = told_alone(s);
	o->weak = led == HOLDS_OPEN && (s->cand->was.adder != s->state->id || may_be_done(s) || o->pooled);
	if (led == HOLDS_FALSE)
		say(o, PROOF_P2, HOLDS_FALSE, "no registration led to it");
	else if (was_closers(s))
		say(o, PROOF_P2, HOLDS_FALSE, "it registered it for its closer, and waits for another");
	else if (s->state->flags & CTP_STATE_MOREWAITS)
		say(o, PROOF_P2, HOLDS_FALSE, "it waits for more things than were kept");
	else if (o->weak && (beside || only == HOLDS_FALSE) &&
		 !told_alone(s)) // it may wait for that one alone
		say(o, PROOF_P2, HOLDS_FALSE, "a live registration of another descriptor leads to it");
	else if (o->pooled)
		say(o, PROOF_P2, HOLDS_OPEN,
		    "it waits where events of other descriptors resumed it before: perhaps in a pool");
	else if (o->weak && may_be_done(s))
		say(o, PROOF_P2, HOLDS_OPEN,
		    "it got something from the descriptor, and did not try again: it may be done with it");
	else if (o->weak)
		say(o, PROOF_P2, HOLDS_OPEN,
		    ctp_was_registered(&s->cand->was) ?
			    "its last try had to wait, and somebody else had registered the descriptor" :
		    was_polled(s) ?
			    "its last try had to wait, and the descriptor was polled after it suspended" :
			    "its last try had to wait, and events of the descriptor resumed it before");
	else if (led == HOLDS_OPEN)
		say(o, PROOF_P2, HOLDS_OPEN, "it added the registration in an earlier slice");
	else if (only == HOLDS_OPEN)
		say(o, PROOF_P2, HOLDS_OPEN, "it waits for several descriptors, all closed");
	else if (same_number)
		say(o, PROOF_P2, HOLDS_OPEN, "its number was opened again and registered with the same data");
	else
		say(o, PROOF_P2, HOLDS_TRUE, "one known wait");
	if (o->items[PROOF_P2].holds != HOLDS_FALSE)
		obligations_beside(
			o, s,
			(only == HOLDS_FALSE && !told) || (beside && ctp_stands_there(other, s->state)) ?
				BESIDE_THERE :
			only == HOLDS_FALSE || beside ? BESIDE_AWAY :
							BESIDE_NONE);
	if (same_number)
		o->also_open = "an event of the descriptor that has the number now may resume it";
}

bool obligations_names(const struct ctp_fd *f, int32_t fd, const struct ctp_state *c)
{
	return ((f->leads & CTP_ID_MASK) == c->id && !(f->flags & CTP_FD_TAUGHT)) ||
	       (uint32_t)f->reg_data == (uint32_t)fd;
}

bool obligations_told(const struct suspect *s)
{
	int32_t fd = s->through && s->wait ? s->wait->fd : s->cand->fd;
	const struct ctp_fd *f = !s->through ? &s->cand->was : s->wait ? image_fd(s->image, fd) : NULL;
	if (s->wait && (s->wait->how & CTP_WAIT_REGISTERED))
		return said_eagain(s) || (f && obligations_names(f, fd, s->state));
	return said_eagain(s) && f && ctp_stands_there(f, s->state);
}

void obligations_quiet(struct obligations *o, bool told)
{
	if (o->items[PROOF_P6A].holds != HOLDS_TRUE && o->items[PROOF_P6B].holds == HOLDS_TRUE &&
	    o->items[PROOF_P2].holds == HOLDS_TRUE && !told)
		say(o, PROOF_P2, HOLDS_OPEN,
		    "nothing shows that it waits for the descriptor: it may be in a pool");
}

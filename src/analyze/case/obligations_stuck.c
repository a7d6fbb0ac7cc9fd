// SPDX-License-Identifier: MIT
//
// Decides P0 to P7 for one coroutine and one descriptor that is open. Without a close there
// is no instant for the tables to compare with, so what ctp-run did not see stays open. What
// it saw counts only if it did so before the program began to end: a loop that stops
// waiting is no fault then.
#include "analyze/case/obligations_own.h"

#include "ctp/late.h"
#include "ctp/rules.h"
#include "ctp/wait_inference.h"

// It suspended for this descriptor, as far as can be known, by what the engine saw of its registration.
static bool firm(const struct suspect *s)
{
	const struct ctp_state *c = s->state;
	int32_t fd = (int32_t)s->witness->fd;
	const struct ctp_fd *f = fd < 0 ? NULL : image_fd(s->image, fd);
	bool references = s->witness->items[PROOF_P2].holds == HOLDS_TRUE;
	return f && f->gen == (uint32_t)s->witness->gen &&
	       ctp_wait_firm(f, fd, c, s->wait, ctp_event_noted(f, c, s->wait) && !references);
}

// What it registered may be for a handler of the loop, and itself wait in a mailbox: sure is what it tried in
// vain, what leads to it, and where an event of it woke it. Partner: obligations_told in obligations_wait.c.
static bool told_to_wait(const struct suspect *s)
{
	const struct ctp_state *c = s->state;
	int32_t fd = (int32_t)s->witness->fd;
	const struct ctp_fd *f = fd < 0 ? NULL : image_fd(s->image, fd);
	return (s->wait && (s->wait->how & CTP_WAIT_EAGAIN)) ||
	       (f && (ctp_stands_there(f, c) || obligations_names(f, fd, c)));
}

static bool seen_by(const struct suspect *s, enum proof p, uint64_t ns)
{
	const struct witness_item *i = &s->witness->items[p];
	return i->holds == HOLDS_TRUE && i->since_ns <= ns;
}

// What is registered for nothing that it needs can have told no process that shares the set either.
static bool only_shared(const struct suspect *s, uint64_t ns)
{
	return s->witness->rule == RULE_REMOVED && obligations_passed(s, ns);
}

// Was it seen to be stuck by then? Of one that is parked nothing tells that but the search, and a program
// that ends forgets whom it kept.
static bool stuck_by(const struct suspect *s, uint64_t ns)
{
	return seen_by(s, PROOF_P3, ns) && (seen_by(s, PROOF_P4, ns) || only_shared(s, ns)) &&
	       (s->witness->rule != RULE_PARKED || seen_by(s, PROOF_P6A, ns));
}

static void decide_end(struct obligations *o, const struct suspect *s)
{
	uint64_t end = obligations_end(s), left = ctp_state_latest(s->state);
	uint64_t since = left == UINT64_MAX ? left : world_ns(s->world, left);
	uint64_t asked = obligations_asked(s, since);
	const struct ctp_fd *f = s->witness->fd < 0 ? NULL : image_fd(s->image, (int32_t)s->witness->fd);
	if (end && end <= since)
		say(o, PROOF_P7, HOLDS_FALSE, "the program was already ending when it suspended");
	else if (obligations_draining(s, f && f->gen == (uint32_t)s->witness->gen ? f : NULL, left))
		say(o, PROOF_P7, HOLDS_FALSE, "a listener was closed before: the program may be draining");
	else if (end && !stuck_by(s, end))
		say(o, PROOF_P7, HOLDS_FALSE, "the program began to end before it was seen to be stuck");
	else if (asked && !stuck_by(s, asked))
		say(o, PROOF_P7, HOLDS_OPEN, OBLIGATIONS_ASKED);
	else
		say(o, PROOF_P7, HOLDS_TRUE, "the program was not ending");
}

static enum verdict conclude(const struct obligations *o, bool shared)
{
	const struct obligation *p = o->items;
	for (unsigned i = PROOF_P1; i <= PROOF_P7; i++) {
		bool must = i == PROOF_P3 || i == PROOF_P4;
		if ((i == PROOF_P1 || i == PROOF_P2 || i == PROOF_P7) && p[i].holds == HOLDS_FALSE)
			return VERDICT_NONE;
		if (must && p[i].holds != HOLDS_TRUE && !(i == PROOF_P4 && shared))
			return VERDICT_NONE;
	}
	if (p[PROOF_P0].holds != HOLDS_TRUE)
		return p[PROOF_P5].holds == HOLDS_TRUE && !o->weak ? VERDICT_INCONCLUSIVE : VERDICT_NONE;
	return VERDICT_SUSPECT;
}

void obligations_stuck(struct obligations *o, const struct suspect *s)
{
	static const char unseen[] = "not looked at";
	*o = (struct obligations){0};
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct witness_item *w = &s->witness->items[i];
		say(o, i, w->holds, w->text ? w->text : unseen);
	}
	o->weak = !firm(s);
	obligations_complete(o, s);
	obligations_suspended(o, s);
	obligations_reach(o, s);
	obligations_beside(o, s, BESIDE_NONE);
	if (o->beside == BESIDE_AWAY && !(s->wait && (s->wait->how & CTP_WAIT_EAGAIN)))
		o->beside = BESIDE_THERE; // nothing told it to wait for this one rather than for that
	obligations_quiet(o, told_to_wait(s));
	decide_end(o, s);
	o->closure = obligations_closure(o);
	o->verdict = conclude(o, o->items[PROOF_P4].holds == HOLDS_OPEN && only_shared(s, UINT64_MAX));
}

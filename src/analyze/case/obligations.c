// SPDX-License-Identifier: MIT
//
// Decides P0 to P7 for one coroutine and one descriptor that ended. The witness's answers
// are taken as they are. The tables add what only they know (P1, P2, P7), and replace a
// witness that never looked (P0, P4, P5). What is not shown stays open, and an open
// obligation only weakens the verdict. P2: obligations_wait.c.
#include "analyze/case/obligations_own.h"

#include <string.h>

#include "ctp/late.h"
#include "ctp/polled.h"

const char *const verdict_words[] = {"none", "inconclusive", "suspect", "likely", "proven"};

void obligations_complete(struct obligations *o, const struct suspect *s)
{
	uint32_t gaps = s->image->ext.gaps;
	if (s->image->ext.rings)
		say(o, PROOF_P0, HOLDS_FALSE, "io_uring or AIO is in use, which ctp does not see");
	else if (gaps & OBLIGATIONS_GAPS)
		say(o, PROOF_P0, HOLDS_FALSE,
		    gaps & CTP_GAP_URING   ? "io_uring or AIO is in use, which ctp does not see" :
		    gaps & CTP_GAP_OWN_FDS ? "a thread has, or had, descriptors of its own" :
					     "a table of the region was full: something may be missing");
	else if (!s->witness)
		say(o, PROOF_P0, HOLDS_TRUE, "no gap in the tables");
	else if (seen(s, PROOF_P0) == HOLDS_OPEN && !s->witness->items[PROOF_P0].text)
		say(o, PROOF_P0, HOLDS_OPEN, "the engine did not say");
}

// Shown to be beyond waking before the program was told to end.
static bool was_lost(const struct suspect *s)
{
	uint64_t exit = s->image->ext.exit_begun, taken = s->image->ext.signal_taken;
	uint64_t when = s->cand ? s->cand->time : ctp_state_latest(s->state);
	bool before = (!exit || when < exit) && (!taken || when < taken);
	return before && (seen(s, PROOF_P6A) == HOLDS_TRUE || seen(s, PROOF_P6B) == HOLDS_TRUE);
}

// Of a stack whose lower end is not known, both bounds are the upper one: then only the search of an attach,
// which has followed its frames, tells that it stands there.
static bool is_elsewhere(const struct ctp_state *c)
{
	uint64_t sp = c->regs[CTP_REG_SP];
	bool followed = c->lo == c->hi && c->source == CTP_SOURCE_SEARCH;
	return sp > c->hi || (sp < c->lo && !followed);
}

void obligations_suspended(struct obligations *o, const struct suspect *s)
{
	const struct ctp_state *c = s->state;
	bool swept = c->life == CTP_DESTROYED && was_lost(s) && image_suspended(s->image, c);
	if ((c->life != CTP_SUSPENDED || (c->flags & CTP_STATE_STACK_FREED)) && !swept)
		say(o, PROOF_P1, HOLDS_FALSE, "it is not suspended");
	else if (!c->runs)
		say(o, PROOF_P1, HOLDS_FALSE, "it never ran");
	else if (c->lo && c->regs[CTP_REG_SP] && is_elsewhere(c))
		say(o, PROOF_P1, HOLDS_OPEN,
		    "it left from another stack than its own, in a way that was not seen");
	else if (s->world->counts.reused)
		say(o, PROOF_P1, HOLDS_OPEN,
		    "stacks of suspended coroutines were reused in this run: "
		    "it may have been discarded");
	else
		say(o, PROOF_P1, HOLDS_TRUE,
		    swept ? "suspended until the program was told to end" : "suspended now");
}

#define ASLEEP_NS 10000000u

// In a wait that it entered after the end of the descriptor, and in it for so
// long that it must have gone to sleep.
static bool asleep(const struct suspect *s, const struct ctp_thread *t)
{
	uint64_t copied = world_ns(s->world, s->image->ext_table.time);
	return ctp_loop_waits(t) && t->seen >= s->cand->epoch &&
	       copied > world_ns(s->world, t->wait_since) + ASLEEP_NS;
}

// P4 and P5 as the thread table shows them: each thread entered a wait
// (slept in one) after the end of the descriptor. `before`: and did so before
// this time (ticks; 0 = any), as far as its last wait tells.
static void turns_by_table(const struct suspect *s, uint64_t before, bool *entered, bool *slept)
{
	uint64_t epoch = s->cand->epoch;
	*entered = *slept = !s->image->ext.forks && !s->image->ext.inherited && s->image->threads.n > 0;
	for (size_t i = 0; i < s->image->threads.n; i++) {
		const struct ctp_thread *t = table_row(&s->image->threads, i);
		bool polls = t->polls || (t->sets && (s->cand->was.polled || s->cand->was.polled_out));
		if (t->life != CTP_THREAD_LIVE || (!polls && !t->switches))
			continue;
		bool passed = t->slept_epoch >= epoch || asleep(s, t);
		bool in_time = !before || t->wait_call == CTP_IN_EXIT || t->wait_since <= before;
		*slept &= passed && in_time;
		*entered &= !polls || ((passed || t->seen >= epoch) && in_time &&
				       (t->wait_call != CTP_IN_EXIT || passed));
	}
}

static void decide_turns(struct obligations *o, const struct suspect *s)
{
	bool entered, slept;
	turns_by_table(s, 0, &entered, &slept);
	if (seen(s, PROOF_P4) == HOLDS_OPEN && entered)
		say(o, PROOF_P4, HOLDS_TRUE, "every thread that polls entered a wait after the close");
	if (seen(s, PROOF_P5) == HOLDS_OPEN && slept)
		say(o, PROOF_P5, HOLDS_TRUE, "every thread that runs coroutines slept after the close");
	// An event that came since it suspended was taken by some thread; until
	// that thread has slept again, the coroutine is woken and queued.
	const struct ctp_fd *f = !s->through ? &s->cand->was :
				 s->wait     ? image_fd(s->image, s->wait->fd) :
					       NULL;
	o->queued = f && f->event_time > s->state->since &&
		    !(o->items[PROOF_P4].holds == HOLDS_TRUE && o->items[PROOF_P5].holds == HOLDS_TRUE);
}

// Is there a time after which the run was only ending? ns, 0 = no.
uint64_t obligations_end(const struct suspect *s)
{
	const struct ctp_ext *e = &s->image->ext;
	const uint64_t all[] = {world_ns(s->world, e->exit_begun), world_ns(s->world, e->signal_taken),
				s->image->term_forwarded_ns};
	uint64_t first = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] && (!first || all[i] < first))
			first = all[i];
	return first;
}

uint64_t obligations_asked(const struct suspect *s, uint64_t ns)
{
	return image_asked(s->image, &s->world->manifest, ns);
}

static bool listens(const struct image *m)
{
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if ((f->flags & CTP_FD_LISTENS) && f->life == CTP_FD_OPEN)
			return true;
	}
	return false;
}

bool obligations_draining(const struct suspect *s, const struct ctp_fd *f, uint64_t at)
{
	uint64_t closed = s->image->ext.listener_closed;
	bool accepted = f && f->opened_how == CTP_CALL_ACCEPT && f->opened > closed;
	return closed && closed < at && !(accepted && listens(s->image));
}

static bool seen_by(const struct suspect *s, enum proof p, uint64_t ns)
{
	return seen(s, p) == HOLDS_TRUE && s->witness->items[p].since_ns <= ns;
}

// Another process that shares a set cannot give it its chance, nor take it.
bool obligations_passed(const struct suspect *s, uint64_t ns)
{
	uint64_t passed = s->witness ? s->witness->passed_ns : 0;
	return seen_by(s, PROOF_P4, ns) || (passed && passed <= ns);
}

// Its chance, by then.
static bool seen_to_have_had_it(const struct suspect *s, uint64_t ns)
{
	return obligations_passed(s, ns) && (seen_by(s, PROOF_P5, ns) || seen_by(s, PROOF_P6A, ns));
}

// Before the program began to end, at `end`.
static bool had_its_chance(const struct suspect *s, uint64_t end)
{
	uint64_t exit_begun = s->image->ext.exit_begun;
	bool only_exit = exit_begun && world_ns(s->world, exit_begun) == end, entered, slept;
	bool copied_before = world_ns(s->world, s->image->ext_table.time) <= end;
	turns_by_table(s, copied_before ? 0 : only_exit ? exit_begun : 1, &entered, &slept);
	return (obligations_passed(s, end) || entered) &&
	       (seen_by(s, PROOF_P5, end) || seen_by(s, PROOF_P6A, end) || slept);
}

static void decide_end(struct obligations *o, const struct suspect *s)
{
	uint64_t end = obligations_end(s), closed = world_ns(s->world, s->cand->time);
	uint64_t asked = obligations_asked(s, closed);
	uint64_t at = s->cand->before ? s->cand->before : s->cand->time;
	const char *reason = s->image->snapshot_reason;
	if (end && end <= closed) {
		say(o, PROOF_P7, HOLDS_FALSE, "the program was already ending when it was closed");
	} else if (obligations_draining(s, &s->cand->was, at)) {
		say(o, PROOF_P7, HOLDS_FALSE, "a listener was closed before: the program may be draining");
	} else if (end && !had_its_chance(s, end)) {
		say(o, PROOF_P7, HOLDS_FALSE, "the program began to end before it had its chance");
	} else if (!end && reason && !strcmp(reason, "ended") && o->items[PROOF_P4].holds != HOLDS_TRUE &&
		   !obligations_passed(s, UINT64_MAX)) {
		say(o, PROOF_P7, HOLDS_FALSE, "the program ended before it had its chance");
	} else if (asked && (asked <= closed || !seen_to_have_had_it(s, asked))) {
		say(o, PROOF_P7, HOLDS_OPEN, OBLIGATIONS_ASKED);
	} else if (end) {
		say(o, PROOF_P7, HOLDS_TRUE, "it had its chance before the program began to end");
	} else {
		say(o, PROOF_P7, HOLDS_TRUE, "the program was not ending");
	}
}

void obligations_reach(struct obligations *o, const struct suspect *s)
{
	if (o->items[PROOF_P6A].holds != HOLDS_TRUE)
		return;
	if (s->state->flags & CTP_STATE_SHARED_STACK)
		say(o, PROOF_P6A, HOLDS_OPEN, "its stack is kept elsewhere by copying");
	else if (s->state->lo >= s->state->hi)
		say(o, PROOF_P6A, HOLDS_OPEN, "the bounds of its stack are not known");
}

unsigned obligations_held(const struct obligations *o)
{
	unsigned held = 0;
	for (unsigned p = 0; p < PROOFS; p++)
		held |= o->items[p].holds == HOLDS_TRUE ? proof_bit(p) : 0;
	return held;
}

// Programs that discard coroutines at a place do so to whoever stands there: their stacks became others'.
static bool discarded(const struct suspect *s)
{
	for (size_t i = 0; s->state->stack && s->world->counts.reused && i < s->image->stations.n; i++) {
		const struct ctp_state *c = image_state(s->image, i);
		if (c->entity == CTP_COROUTINE && c->life == CTP_DESTROYED && c->how == CTP_HOW_REUSED &&
		    c->stack == s->state->stack)
			return true;
	}
	return false;
}

// Of a program that ctp-run attached to, the tables lack what happened before; the kernel lacks nothing.
static bool shown_but_for_the_past(const struct obligations *o)
{
	const struct obligation *p = o->items;
	return o->late && !o->by_hand && o->beside == BESIDE_NONE && p[PROOF_P0].holds == HOLDS_OPEN &&
	       p[PROOF_P1].holds == HOLDS_TRUE && p[PROOF_P2].holds == HOLDS_TRUE &&
	       p[PROOF_P3].holds == HOLDS_TRUE && p[PROOF_P4].holds == HOLDS_TRUE &&
	       p[PROOF_P5].holds == HOLDS_TRUE;
}

static enum verdict of_ended(const struct obligations *o)
{
	const struct obligation *p = o->items;
	unsigned held = obligations_held(o);
	bool p6 = proof_beyond_reach(held);
	bool ending = p[PROOF_P7].holds == HOLDS_FALSE;
	if (p[PROOF_P1].holds == HOLDS_FALSE || p[PROOF_P2].holds == HOLDS_FALSE ||
	    p[PROOF_P3].holds == HOLDS_FALSE || (p[PROOF_P4].holds == HOLDS_FALSE && !ending) || o->queued)
		return VERDICT_NONE;
	if (o->pooled && p[PROOF_P6A].holds != HOLDS_TRUE) // so do all pools that are idle
		return VERDICT_NONE;
	if (o->beside != BESIDE_NONE && !p6 && o->weak && !o->told)
		return VERDICT_NONE;
	if (o->weak && !p6) // it may wait for something else: worth a look if all the rest is shown
		return !ending && p[PROOF_P0].holds == HOLDS_TRUE && p[PROOF_P3].holds == HOLDS_TRUE &&
				       p[PROOF_P4].holds == HOLDS_TRUE && p[PROOF_P5].holds == HOLDS_TRUE ?
			       VERDICT_SUSPECT :
			       VERDICT_NONE;
	if (!ending && shown_but_for_the_past(o))
		return VERDICT_LIKELY;
	if (p[PROOF_P0].holds != HOLDS_TRUE || ending)
		return o->beside == BESIDE_THERE ? VERDICT_NONE : VERDICT_INCONCLUSIVE;
	if (o->beside == BESIDE_THERE && !p6)
		return VERDICT_SUSPECT;
	if (!p6 && (o->by_hand || p[PROOF_P5].holds != HOLDS_TRUE))
		return VERDICT_SUSPECT;
	unsigned must = proof_bit(PROOF_P1) | proof_bit(PROOF_P7);
	return (held & must) == must && proof_witnessed(held) ? VERDICT_PROVEN : VERDICT_LIKELY;
}

static enum verdict conclude(const struct obligations *o)
{
	enum verdict is = of_ended(o);
	return o->cancelled && is > VERDICT_SUSPECT ? VERDICT_SUSPECT : is;
}

const char *obligations_closure(const struct obligations *o)
{
	return o->items[PROOF_P6A].holds == HOLDS_TRUE ? "unreachable" :
	       o->items[PROOF_P6B].holds == HOLDS_TRUE ? "quiet" :
							 NULL;
}

void obligations_decide(struct obligations *o, const struct suspect *s)
{
	static const char *const unseen[PROOFS] = {
		[PROOF_P3] = "the kernel's tables were not inspected",
		[PROOF_P4] = "not shown that no event was in flight",
		[PROOF_P5] = "not shown that every thread slept since",
		[PROOF_P6A] = "memory was not searched",
		[PROOF_P6B] = "not looked at",
	};
	*o = (struct obligations){0};
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct witness_item *w = s->witness ? &s->witness->items[i] : NULL;
		say(o, i, w ? w->holds : HOLDS_OPEN, w && w->text ? w->text : unseen[i]);
	}
	o->by_hand = s->world->counts.hand > 0;
	o->late = s->image->ext.gaps & CTP_GAP_ATTACHED;
	o->cancelled = (s->witness && s->witness->pooled) || discarded(s);
	obligations_complete(o, s);
	obligations_suspended(o, s);
	obligations_wait(o, s);
	decide_turns(o, s);
	obligations_reach(o, s);
	obligations_quiet(o, obligations_told(s));
	decide_end(o, s);
	o->closure = obligations_closure(o);
	o->verdict = conclude(o);
}

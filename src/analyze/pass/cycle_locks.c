// SPDX-License-Identifier: MIT
//
// Circles of coroutines that are parked at each other's locks (engine/memory/cycle_hubs.h). Each waits at an
// object, a hub, in which the next one's handle stands. That is what a deadlock looks like, but the program's
// code alone knows what such a word means: a time limit or a cancellation may still come. So it is LIKELY
// where nothing else can resume any of them (the program is quiet, but for handlers of signals that end it,
// or nothing outside leads to them), else SUSPECT, and never PROVEN. Hubs that do not tell queue and owner
// apart could as well be records of partners: where one of those has been resumed before, a program that is
// quiet is SUSPECT, and one that is not is none. A handle beside a container of handles may also be one who
// tells others, and those: such a circle is SUSPECT where anything else leads to it. A circle of one waits
// for itself; but a mailbox has an owner, too, who waits at it: where something else leads to it, it is
// SUSPECT at most, and none if the program is not quiet or somebody was resumed there before.
#include "analyze/pass/cycle.h"

#include <inttypes.h>

#include "analyze/case/hub_name.h"
#include "trace/parked_place.h"

static const struct set_circle_wait *wait_at(const struct cycle *c, const struct set_circle *o, size_t i)
{
	return &c->image->set_looks.waits[o->waits + i % o->n];
}

static const struct ctp_state *parked(const struct cycle *c, const struct set_circle_wait *w)
{
	const struct ctp_state *s = image_entity(c->image, w->coroutine);
	return s && s->life == CTP_SUSPENDED && s->entity == CTP_COROUTINE && s->changes == w->changes &&
			       !image_nwaits(s) && !image_ran_since(c->image, s) ?
		       s :
		       NULL;
}

// Does nothing but the circle itself lead to this one?
static bool closed(const struct cycle *c, const struct ctp_state *s)
{
	const struct witness *w = witness_find(&c->image->witness, RULE_PARKED, s->id, -1, 0);
	return w && w->items[PROOF_P6A].holds == HOLDS_TRUE;
}

static const char *hubs(const struct cycle *c, const struct set_circle *o, struct results *out)
{
	const char *text = "";
	for (size_t i = 0; i < o->n; i++)
		text = results_text(out, "%s%s%s", text,
				    !i            ? "" :
				    i + 1 == o->n ? " and " :
						    ", ",
				    hub_name(wait_at(c, o, i), out));
	return text;
}

// A lock that the waiter holds itself.
static bool alone(const struct set_circle *o)
{
	return o->n == 1;
}

// Where queue and owner are not told apart, nor is who of them waits at which.
static const char *chain(const struct cycle *c, const struct set_circle *o, struct results *out)
{
	const char *text = "";
	for (size_t i = 0; i < o->n; i++) {
		const struct set_circle_wait *w = wait_at(c, o, i);
		if (o->firm)
			text = results_text(out, "%sco %" PRIu64 " -> %s -> ", text, w->coroutine,
					    hub_name(w, out));
		else
			text = results_text(out, "%s%sco %" PRIu64, text, i ? ", " : "", w->coroutine);
	}
	return o->firm ? results_text(out, "%sback", text) :
			 results_text(out, "%s, by %s", text, hubs(c, o, out));
}

static void decide(const struct cycle *c, const struct set_circle *o, struct obligations *p,
		   struct results *out)
{
	const struct set_looks *l = &c->image->set_looks;
	static const enum proof asked[] = {PROOF_P0, PROOF_P5, PROOF_P6B};
	struct parked_place places = parked_places(c->image);
	bool all = true, left = false;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		p->items[asked[i]] = (struct obligation){l->items[asked[i]].holds, l->items[asked[i]].text};
	for (size_t i = 0; i < o->n; i++) {
		const struct ctp_state *s = parked(c, wait_at(c, o, i));
		all = all && closed(c, s);
		left = left || parked_place_left(&places, parked_place(&places, s->stack));
	}
	bool quiet = p->items[PROOF_P6B].holds == HOLDS_TRUE, rests = quiet || l->sleeps;
	bool complete = case_complete(c->world, c->image);
	p->items[PROOF_P1] =
		(struct obligation){c->world->counts.reused ? HOLDS_OPEN : HOLDS_TRUE, "suspended now"};
	p->items[PROOF_P2] = (struct obligation){
		HOLDS_TRUE,
		results_text(out, "%s: %s",
			     alone(o) ? "it is queued at an object that holds its own handle" :
					"each waits at an object that holds the next one's handle",
			     hubs(c, o, out))};
	p->items[PROOF_P3] = (struct obligation){HOLDS_TRUE, "no armed registration leads to any of them"};
	if (all)
		p->items[PROOF_P6A] = (struct obligation){
			HOLDS_TRUE,
			alone(o) ? "nothing but what it waits at leads to it" :
				   results_text(out, "nothing outside these %zu leads to any of them", o->n)};
	else
		p->items[PROOF_P6A] = (struct obligation){HOLDS_OPEN, "something else may lead to them"};
	p->closure = all ? "unreachable" : quiet ? "quiet" : NULL;
	p->by_hand = c->world->counts.hand > 0;
	if (alone(o) && !all) // a mailbox has an owner, too, who waits at it
		p->verdict = rests && !left ? VERDICT_SUSPECT : VERDICT_NONE;
	else if ((all || (rests && (o->firm || !left))) && complete && !p->by_hand)
		p->verdict = o->container && !all ? VERDICT_SUSPECT : VERDICT_LIKELY;
	else
		p->verdict = all || rests || o->firm || !left ? VERDICT_SUSPECT : VERDICT_NONE;
}

// All of a circle are one finding: they are told by the stack of the one with the lowest id.
static int report(const struct cycle *c, const struct set_circle *o, size_t i,
		  const struct obligations *proof, const char *text, struct results *out)
{
	size_t low = 0;
	for (size_t k = 1; k < o->n; k++)
		low = wait_at(c, o, k)->coroutine < wait_at(c, o, low)->coroutine ? k : low;
	const struct ctp_state *s = parked(c, wait_at(c, o, i)), *first = parked(c, wait_at(c, o, low)),
			       *on = parked(c, wait_at(c, o, low + 1));
	struct verdict_case v = {
		.pass = c->pass,
		.about = {.world = c->world, .image = c->image, .state = s},
		.proof = *proof,
		.id = s->id,
		.stack = first->stack,
		.label = "waiting",
		.fd = -1,
		.fd_kind = CTP_FD_OTHER,
		.doing = results_text(out, "for %s: %s",
				      alone(o) ? "a lock of its own" : "each other's locks", text),
		.message = text,
		.refuted = "one of them is resumed without its lock (a time limit, a cancellation), or what "
			   "they wait at is no lock",
		.fix = "take the locks in one order everywhere, take both at once, or give up the first where "
		       "the second is taken",
	};
	if (alone(o)) {
		v.claim = "waits for itself";
		v.refuted =
			"it is resumed without the lock (a time limit, a cancellation), or what it waits at "
			"is no lock";
		v.fix = "do not lock again, or join, from inside: call what works under the lock, or let the lock "
			"count";
	} else {
		v.actor = (struct case_party){.did = "waits on", .id = on->id, .stack = on->stack};
	}
	case_event(&v, s->since, s->id, "suspends");
	return results_add(out, &v);
}

int cycle_locks(const struct cycle *c, struct results *out)
{
	const struct set_looks *l = &c->image->set_looks;
	int r = 0;
	for (size_t k = 0; !r && k < l->ncircles; k++) {
		const struct set_circle *o = &l->circles[k];
		struct obligations proof = {0};
		bool all = true;
		for (size_t i = 0; i < o->n; i++)
			all = all && parked(c, wait_at(c, o, i));
		if (!all)
			continue;
		decide(c, o, &proof, out);
		const char *text = chain(c, o, out);
		for (size_t i = 0; !r && proof.verdict != VERDICT_NONE && i < o->n; i++)
			r = report(c, o, i, &proof, text, out);
	}
	return r;
}

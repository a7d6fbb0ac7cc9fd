// SPDX-License-Identifier: MIT
//
// A lock whose owner has ended is never given back (engine/memory/hub_holders.h). What a word means, the
// program's code alone knows: a channel may remember who wrote last, or who made it. So it is LIKELY where
// nothing else leads to any of those who are queued, or main waits, too, and the program is quiet; SUSPECT in
// any other program that is quiet, and where it is known to be a mutex (engine/memory/st_mutexes.h); else a
// fact.
#include "analyze/parked/parked_held.h"

#include <inttypes.h>

#include "analyze/case/hub_name.h"
#include "analyze/parked/parked_idle.h"

static const struct ctp_state *parked(const struct image *m, const struct set_circle_wait *w)
{
	const struct ctp_state *s = image_entity(m, w->coroutine);
	return s && image_suspended(m, s) && s->changes == w->changes && !image_nwaits(s) &&
			       !image_ran_since(m, s) ?
		       s :
		       NULL;
}

static bool unreached(const struct image *m, const struct ctp_state *s)
{
	const struct witness *w = witness_find(&m->witness, RULE_PARKED, s->id, -1, 0);
	return w && w->items[PROOF_P6A].holds == HOLDS_TRUE;
}

static const struct set_circle_wait *wait_at(const struct image *m, const struct set_held *h, size_t i)
{
	return &m->set_looks.waits[h->waits + i];
}

static void decide(const struct world *w, const struct image *m, const struct set_held *h,
		   struct obligations *o, struct results *out)
{
	const struct set_looks *l = &m->set_looks;
	static const enum proof asked[] = {PROOF_P0, PROOF_P5, PROOF_P6B};
	bool all = true;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		o->items[asked[i]] = (struct obligation){l->items[asked[i]].holds, l->items[asked[i]].text};
	for (size_t i = 0; i < h->n; i++) {
		const struct ctp_state *s = parked(m, wait_at(m, h, i));
		all = all && (!s || unreached(m, s));
	}
	bool quiet = l->items[PROOF_P6B].holds == HOLDS_TRUE;
	o->by_hand = w->counts.hand > 0;
	bool sure = case_complete(w, m) && !o->by_hand && !w->counts.reused;
	o->items[PROOF_P1] = (struct obligation){w->counts.reused ? HOLDS_OPEN : HOLDS_TRUE, "suspended now"};
	o->items[PROOF_P2] = (struct obligation){
		HOLDS_TRUE, results_text(out,
					 "it is queued at %s, which holds the handle of coroutine %" PRIu64
					 ", which has ended",
					 hub_name(wait_at(m, h, 0), out), h->by)};
	o->items[PROOF_P3] = (struct obligation){HOLDS_TRUE, "no armed registration leads to it"};
	if (all)
		o->items[PROOF_P6A] =
			(struct obligation){HOLDS_TRUE, "nothing but what they wait at leads to any of them"};
	o->closure = all ? "unreachable" : quiet ? "quiet" : NULL;
	o->verdict = (all || (quiet && l->parked.n && !parked_idle(m))) && sure ? VERDICT_LIKELY :
		     all || quiet || l->sleeps || h->mutex                      ? VERDICT_SUSPECT :
										  VERDICT_NONE;
}

// The case that speaks of it already; NULL.
static struct verdict_case *case_of(const struct image *m, uint64_t id, struct results *out, size_t from)
{
	for (size_t i = from; i < out->ncases; i++)
		if (out->cases[i].about.image == m && out->cases[i].id == id)
			return &out->cases[i];
	return NULL;
}

static void describe(struct verdict_case *c, const struct ctp_state *holder, uint64_t by, struct results *out)
{
	const char *end = holder && holder->life == CTP_DESTROYED ? "was destroyed" : "has ended";
	c->claim = "waits for what a coroutine holds that is no more";
	c->message = results_text(out, "coroutine %" PRIu64 " holds it, and %s", by, end);
	c->doing = results_text(out, "for what coroutine %" PRIu64 " holds, which %s", by, end);
	c->actor = (struct case_party){.did = "held by", .id = by, .stack = holder ? holder->stack : 0};
	c->refuted =
		"another coroutine gives it back, or what they wait at only remembers the one that has ended";
	c->fix =
		"give a lock back on every way out of the function that took it, also where it fails, and where a "
		"coroutine that has it is destroyed";
}

static int report(const struct pass *pass, const struct world *w, const struct image *m,
		  const struct set_held *h, const struct obligations *o, struct results *out, size_t from)
{
	const struct ctp_state *holder = image_entity(m, h->by);
	int r = 0;
	for (size_t i = 0; !r && i < h->n; i++) {
		const struct ctp_state *s = parked(m, wait_at(m, h, i));
		struct verdict_case one, *c = s ? case_of(m, s->id, out, from) : NULL;
		if (!s)
			continue;
		if (!c)
			case_of_wait(&one, pass, &(struct suspect){.world = w, .image = m, .state = s}, out);
		struct verdict_case *to = c ? c : &one;
		to->proof = *o;
		describe(to, holder, h->by, out);
		r = c ? 0 : results_add(out, to);
	}
	return r;
}

static int tell(const struct image *m, const struct set_held *h, const struct pass *pass, struct results *out)
{
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++)
		n += parked(m, wait_at(m, h, i)) != NULL;
	return !n ? 0 :
		    results_fact(out, pass->rule, n,
				 "%zu coroutine%s queued at %s, which holds the handle of coroutine %" PRIu64
				 ", which has ended",
				 n, n == 1 ? " is" : "s are", hub_name(wait_at(m, h, 0), out), h->by);
}

int parked_held(const struct pass *pass, const struct world *w, const struct image *m, struct results *out,
		size_t from)
{
	int r = 0;
	for (size_t k = 0; !r && m->has_tables && !m->replaced && k < m->set_looks.nheld; k++) {
		const struct set_held *h = &m->set_looks.held[k];
		struct obligations o = {0};
		decide(w, m, h, &o, out);
		r = o.verdict == VERDICT_NONE ? tell(m, h, pass, out) : report(pass, w, m, h, &o, out, from);
	}
	return r;
}

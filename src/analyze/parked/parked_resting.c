// SPDX-License-Identifier: MIT
//
// A program that sleeps for good resumes nothing any more. Coroutines that are parked then are idle workers,
// or what they wait for did not come: a signal that was sent before they waited, a place in a pool that was
// not given back. Workers do not end while the program lives. Of coroutines that do one job each, others that
// were created at the same place, or were suspended at the same place, have ended. Such a one is reported,
// SUSPECT at most: the last worker of a pool that shrinks looks the same, and a program may sleep until it is
// killed.
#include "analyze/parked/parked_resting.h"

#include <inttypes.h>

#include "analyze/case/hub_name.h"
#include "base/text.h"
#include "ctp/wait_inference.h"

static const struct ctp_site *made_at(const struct image *m, const struct ctp_state *s)
{
	return s->creator_stack && s->creator_stack < m->sites.n ? table_row(&m->sites, s->creator_stack) :
								   NULL;
}

// Does the thread sleep in a poll or select that was given no descriptor?
static bool polls_none(const struct ctp_thread *t)
{
	return (t->wait_seq & 1) && (t->wait_call == CTP_IN_POLL || t->wait_call == CTP_IN_SELECT) &&
	       !t->set_sum;
}

// Does a loop of poll or select have descriptors? Which coroutine waits for them is not known.
static bool polls(const struct image *m)
{
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->life == CTP_THREAD_LIVE && t->sets && !polls_none(t))
			return true;
	}
	return false;
}

static const struct set_circle_wait *queued(const struct image *m, const struct ctp_state *s)
{
	const struct set_looks *l = &m->set_looks;
	for (size_t k = 0; k < l->nqueued; k++)
		for (size_t i = 0; i < l->queued[k].n; i++) {
			const struct set_circle_wait *w = &l->waits[l->queued[k].waits + i];
			if (w->coroutine == s->id && w->changes == s->changes)
				return w;
		}
	return NULL;
}

// How many like it have ended; NULL: none.
static const char *ended_alike(const struct image *m, const struct ctp_state *s, const uint32_t *ended,
			       struct results *out)
{
	const struct ctp_site *site = made_at(m, s);
	uint32_t here = ended && s->stack && s->stack < m->stack_index.n ? ended[s->stack] : 0;
	if (site && site->ended)
		return results_text(out, "of %" PRIu32 " made at this place, %" PRIu32 " ha%s ended",
				    site->created, site->ended, site->ended == 1 ? "s" : "ve");
	return here ? results_text(out,
				   "%" PRIu32 " that stood here before, with the same callers, ha%s ended",
				   here, here == 1 ? "s" : "ve") :
		      NULL;
}

int parked_resting_add(const struct pass *pass, const struct world *w, const struct image *m,
		       const struct ctp_state *s, const uint32_t *ended, struct results *out)
{
	const struct witness_item *seen = m->set_looks.items;
	struct verdict_case c;
	char span[32];
	const char *alike = ctp_in_pool(s) || polls(m) ? NULL : ended_alike(m, s, ended, out);
	if (!alike)
		return 0;
	case_of_wait(&c, pass, &(struct suspect){.world = w, .image = m, .state = s}, out);
	text_duration(span, sizeof(span), case_suspended_ns(&c));
	c.message = alike;
	const struct set_circle_wait *at = queued(m, s);
	c.doing = at ? results_text(out, "%s, queued at %s; %s", span, hub_name(at, out), c.message) :
		       results_text(out, "%s for nothing that is known; %s", span, c.message);
	c.proof = (struct obligations){.closure = "quiet", .verdict = VERDICT_SUSPECT};
	for (unsigned p = PROOF_P0; p <= PROOF_P6B; p++)
		if (p == PROOF_P0 || p == PROOF_P5 || p == PROOF_P6B)
			c.proof.items[p] = (struct obligation){seen[p].holds, seen[p].text};
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P3] = (struct obligation){HOLDS_TRUE, "no armed registration leads to it"};
	c.claim = "has no known wait, others like it have ended, and the whole program sleeps";
	c.refuted = "it is an idle worker, or the program is meant to sleep like this until it is killed";
	c.fix = "find what should have resumed it: a signal sent before the wait (look at the condition and wait in "
		"one step), or a place in a pool that was not given back on some way out";
	return results_add(out, &c);
}

// Those of a queue of whom nothing is said yet, and who are still there. *since: the longest of them.
static size_t untold(const struct image *m, const struct set_queued *q, const unsigned char *is,
		     const struct ctp_state **longest)
{
	size_t n = 0;
	for (size_t i = 0; i < q->n; i++) {
		const struct set_circle_wait *w = &m->set_looks.waits[q->waits + i];
		uint32_t row = idmap_get(&m->by_id, w->coroutine);
		const struct ctp_state *s = row == IDMAP_NONE || is[row] ? NULL :
									   table_row(&m->stations, row);
		if (!s || s->changes != w->changes || !image_suspended(m, s) || image_nwaits(s) ||
		    image_ran_since(m, s))
			continue;
		*longest = n++ && (*longest)->since <= s->since ? *longest : s;
	}
	return n;
}

int parked_resting_tell(const struct pass *pass, const struct world *w, const struct image *m,
			const unsigned char *is, struct results *out)
{
	int r = 0;
	for (size_t k = 0; !r && k < m->set_looks.nqueued; k++) {
		const struct set_queued *q = &m->set_looks.queued[k];
		const struct ctp_state *first = NULL;
		struct verdict_case c;
		char span[32];
		size_t n = untold(m, q, is, &first);
		if (!n)
			continue;
		case_of_wait(&c, pass, &(struct suspect){.world = w, .image = m, .state = first}, out);
		text_duration(span, sizeof(span), case_suspended_ns(&c));
		r = results_fact(out, pass->rule, n,
				 "%zu coroutine%s queued at %s (coroutine %" PRIu64
				 " for %s), and the whole program sleeps for good",
				 n, n == 1 ? " is" : "s are", hub_name(&m->set_looks.waits[q->waits], out),
				 first->id, span);
	}
	return r;
}

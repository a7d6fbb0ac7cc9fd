// SPDX-License-Identifier: MIT
//
// A program that sleeps for good resumes nobody any more. Those that are parked then are idle workers, or
// something that they wait for did not come: a signal that was sent before they waited, a place in a pool
// that was not given back. Workers do not end while the program lives; of those that do a job each, others
// that were made at the same place have ended. So such a one is told, at most SUSPECT: the last worker of a
// pool that shrinks looks the same, and a program may sleep until it is killed.
#include "analyze/case/parked_resting.h"

#include <inttypes.h>

#include "base/text.h"
#include "ctp/wait_inference.h"

static const struct ctp_site *made_at(const struct image *m, const struct ctp_state *s)
{
	return s->creator_stack && s->creator_stack < m->sites.n ? table_row(&m->sites, s->creator_stack) :
								   NULL;
}

// Does a loop of poll or select have descriptors? Which coroutine waits for them is not known.
static bool polls(const struct image *m)
{
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->life == CTP_THREAD_LIVE && t->sets)
			return true;
	}
	return false;
}

int parked_resting_add(const struct pass *pass, const struct world *w, const struct image *m,
		       const struct ctp_state *s, struct results *out)
{
	const struct witness_item *seen = m->set_looks.items;
	const struct ctp_site *site = made_at(m, s);
	struct verdict_case c;
	char span[32];
	if (!site || !site->ended || ctp_in_pool(s) || polls(m))
		return 0;
	case_of_wait(&c, pass, &(struct suspect){.world = w, .image = m, .state = s}, out);
	text_duration(span, sizeof(span), case_suspended_ns(&c));
	c.message = results_text(out, "of %" PRIu32 " made at this place, %" PRIu32 " ha%s ended",
				 site->created, site->ended, site->ended == 1 ? "s" : "ve");
	c.doing = results_text(out, "%s for nothing that is known; %s", span, c.message);
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

// SPDX-License-Identifier: MIT
//
// All of them are SUSPECT: a pool that is idle, or a holder that is late, can look the same.
#include "analyze/parked/parked_case.h"

#include <inttypes.h>

#include "base/text.h"

int parked_case_add(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_state *s, const struct parked_words *words, struct results *out)
{
	struct verdict_case c;
	char span[32];
	case_of_wait(&c, pass, &(struct suspect){.world = w, .image = m, .state = s}, out);
	text_duration(span, sizeof(span), case_suspended_ns(&c));
	c.message = words->message;
	c.doing = results_text(out, "%s for nothing that is known; %s", span, c.message);
	c.proof = (struct obligations){.verdict = VERDICT_SUSPECT, .by_hand = w->counts.hand > 0};
	c.proof.items[PROOF_P0] = case_completeness(case_complete(w, m));
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P5] = (struct obligation){HOLDS_TRUE, words->chance};
	c.claim = words->claim;
	c.refuted = words->refuted;
	c.fix = words->fix;
	return results_add(out, &c);
}

const char *parked_case_chance(const struct parked_spot *p, const char *since, struct results *out)
{
	return p->others ? results_text(out, "had its chance: others were resumed %" PRIu64 " times since %s",
					p->others, since) :
			   results_text(out, "had its chance: the loop has gone on since %s", since);
}

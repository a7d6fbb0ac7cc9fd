// SPDX-License-Identifier: MIT
//
// Makes cases of the engine's inspections. Only what the engine saw makes a case: a program
// that was killed before it was inspected has none.
#include "analyze/case/stuck.h"

#include "ctp/rules.h"
#include "ctp/wait_inference.h"

static const struct ctp_wait *wait_of(const struct ctp_state *state, const struct witness *seen)
{
	for (unsigned i = 0; i < image_nwaits(state); i++)
		if (state->waits[i].fd == seen->fd && state->waits[i].gen == seen->gen)
			return &state->waits[i];
	return NULL;
}

// All that is known is that it wanted to accept a connection: it may wait for something else since, such as
// the end of another one.
static bool only_full(const struct suspect *s)
{
	const struct ctp_fd *f = image_fd(s->image, (int32_t)s->witness->fd);
	return ctp_wait_full(s->wait) && !(s->wait->how & CTP_WAIT_REGISTERED) &&
	       !(f && ctp_stands_there(f, s->state));
}

static int consider(const struct pass *pass, const struct suspect *s, const struct stuck_terms *terms,
		    struct results *out)
{
	struct obligations proof;
	struct verdict_case c;
	obligations_stuck(&proof, s);
	if (proof.verdict == VERDICT_SUSPECT)
		proof.verdict = terms->conclude(s, &proof);
	bool shared = !stuck_holds(&proof, PROOF_P4);
	if ((s->witness->put_off || s->witness->unchecked || shared) && proof.verdict > VERDICT_SUSPECT)
		proof.verdict = VERDICT_SUSPECT;
	if (proof.beside == BESIDE_THERE && proof.verdict > VERDICT_SUSPECT &&
	    !proof_beyond_reach(obligations_held(&proof)))
		proof.verdict = VERDICT_SUSPECT;
	if (proof.verdict > VERDICT_SUSPECT && only_full(s) && !proof_beyond_reach(obligations_held(&proof)))
		proof.verdict = VERDICT_SUSPECT;
	if (proof.verdict == VERDICT_NONE)
		return 0;
	case_of_wait(&c, pass, s, out);
	c.proof = proof;
	const struct ctp_fd *fd = c.fd < 0 ? NULL : image_fd(s->image, c.fd);
	if (terms->describe)
		terms->describe(&c, fd && fd->gen == c.gen ? fd : NULL, out);
	if (ctp_wait_full(s->wait))
		c.fix = "where accept fails with EMFILE, note it, and resume the acceptor whenever a descriptor was closed";
	return results_add(out, &c);
}

int stuck_run(const struct pass *pass, const struct world *w, struct results *out,
	      const struct stuck_terms *terms)
{
	unsigned rule = rules_number(pass->rule);
	int r = 0;
	for (size_t k = 0; k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables)
			continue;
		for (size_t i = 0; !r && i < m->witness.n; i++) {
			const struct witness *seen = &m->witness.items[i];
			const struct ctp_state *state =
				seen->rule == rule && !seen->ended ? image_entity(m, seen->coroutine) : NULL;
			if (!state || !image_suspended(m, state) || seen->fd > INT32_MAX)
				continue;
			struct suspect s = {.world = w,
					    .image = m,
					    .state = state,
					    .wait = wait_of(state, seen),
					    .witness = seen};
			r = consider(pass, &s, terms, out);
		}
	}
	return r;
}

bool stuck_sure(const struct obligations *o)
{
	for (unsigned i = PROOF_P0; i <= PROOF_P4; i++)
		if (!stuck_holds(o, i))
			return false;
	return !o->weak && stuck_holds(o, PROOF_P7);
}

enum verdict stuck_conclude(const struct obligations *o, bool likely)
{
	if (o->weak)
		return VERDICT_NONE;
	if (stuck_sure(o) && stuck_holds(o, PROOF_P6B))
		return VERDICT_PROVEN;
	return likely && stuck_holds(o, PROOF_P5) ? VERDICT_LIKELY : VERDICT_SUSPECT;
}

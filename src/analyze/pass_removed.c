// SPDX-License-Identifier: MIT
//
// CTP002, registration removed under a waiter: as CTP001, but the end was an
// EPOLL_CTL_DEL and the descriptor is still open. Refuted by a registration
// made since, or by an event of it that came after the coroutine suspended
// (then it is woken and queued). The tables show the missing row (P3) when
// the engine did not look.
#include "analyze/pass.h"

static bool removed_for_good(const struct image *m, const struct ctp_state *state,
			     const struct ctp_wait *wait, const struct ctp_cand *del)
{
	const struct ctp_fd *now = image_fd(m, wait->fd);
	return now && now->life == CTP_FD_OPEN && now->gen == wait->gen && now->reg_epfd < 0 &&
	       !(now->flags & CTP_FD_MANYREGS) && !image_end_of(m, wait->fd, wait->gen) &&
	       del->closer != state->id && del->time >= state->since &&
	       now->event_time < state->since && (wait->how & CTP_WAIT_REGISTERED);
}

static int consider(const struct pass *pass, const struct suspect *s, struct found *out)
{
	struct verdict_case c = { .pass = pass, .about = *s };
	obligations_decide(&c.proof, s);
	if (c.proof.verdict == VERDICT_SUSPECT && c.proof.items[PROOF_P5].holds != HOLDS_TRUE)
		return 0; // programs pause a descriptor and go on in the same turn
	return c.proof.verdict == VERDICT_NONE ? 0 : found_case(out, &c);
}

int pass_removed(const struct pass *pass, const struct world *w, struct found *out)
{
	for (size_t k = 0; k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables || !m->dels.n)
			continue;
		for (size_t i = 0; i < m->stations.n; i++) {
			const struct ctp_state *state = image_state(m, i);
			if (state->entity != CTP_COROUTINE || state->life != CTP_SUSPENDED)
				continue;
			for (unsigned n = 0; n < image_nwaits(state); n++) {
				const struct ctp_wait *wait = &state->waits[n];
				const struct ctp_cand *del = image_del_of(m, wait->fd, wait->gen);
				if (!del || !removed_for_good(m, state, wait, del))
					continue;
				struct suspect s = { w, m, state, del, wait,
						     witness_find(&m->witness, state->id, wait->fd,
								  wait->gen) };
				int r = consider(pass, &s, out);
				if (r)
					return r;
			}
		}
	}
	return 0;
}

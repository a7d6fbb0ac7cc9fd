// SPDX-License-Identifier: MIT
//
// CTP002, registration removed under a waiter: as CTP001, but it ended by EPOLL_CTL_DEL and the
// descriptor is still open. A registration made since refutes it, and so does an event of the
// descriptor that came after the coroutine was suspended (it is woken and queued then). The tables
// show that the registration is missing (P3) if the engine did not look.
#include "analyze/case/pass.h"
#include "analyze/case/pauses.h"
#include "analyze/pass/unpolled.h"

static bool removed_for_good(const struct image *m, const struct ctp_state *state,
			     const struct ctp_wait *wait, const struct ctp_cand *del)
{
	const struct ctp_fd *now = image_fd(m, wait->fd);
	return now && now->life == CTP_FD_OPEN && now->gen == wait->gen && now->reg_epfd < 0 &&
	       !(now->flags & CTP_FD_MANYREGS) && !image_end_of(m, wait->fd, wait->gen) &&
	       del->closer != state->id && del->time >= state->since && now->event_time < state->since &&
	       image_polled_by(m, now) == IMAGE_POLLED_OUT;
}

static int consider(const struct pass *pass, const struct suspect *s, struct results *out)
{
	struct obligations proof;
	obligations_decide(&proof, s);
	pauses_weaken(&proof, s, false);
	if (proof.verdict == VERDICT_NONE ||
	    (proof.verdict == VERDICT_SUSPECT && proof.items[PROOF_P5].holds != HOLDS_TRUE))
		return 0; // programs pause a descriptor and go on in the same turn
	struct verdict_case c;
	case_of_wait(&c, pass, s, out);
	c.proof = proof;
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	for (size_t k = 0; k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables)
			continue;
		int r = unpolled_find(pass, w, m, out);
		if (r)
			return r;
		for (size_t i = 0; m->dels.n && i < m->stations.n; i++) {
			const struct ctp_state *state = image_state(m, i);
			if (state->entity != CTP_COROUTINE || state->life != CTP_SUSPENDED)
				continue;
			for (unsigned n = 0; n < image_nwaits(state); n++) {
				const struct ctp_wait *wait = &state->waits[n];
				const struct ctp_cand *del = image_del_of(m, wait->fd, wait->gen);
				if (!del || !removed_for_good(m, state, wait, del))
					continue;
				const struct witness *seen = witness_find(&m->witness, RULE_REMOVED,
									  state->id, wait->fd, wait->gen);
				struct suspect s = {w, m, state, del, wait, seen};
				r = consider(pass, &s, out);
				if (r)
					return r;
			}
		}
	}
	return 0;
}

const struct pass pass_removed = {
	.rule = rules_id[RULE_REMOVED],
	.title = "registration removed",
	.run = run,
	.waits = true,
	.claim = "waits for a descriptor that nobody polls any more",
	.likely = "has not been woken: only the program could",
	.suspect = "may be asleep for ever",
	.fix = "resume the waiter when its registration is removed, or register the descriptor again",
	.explain =
		"A coroutine waits for a descriptor, and somebody else takes the descriptor out of the epoll set.\n"
		"\n"
		"    // coroutine                             // elsewhere\n"
		"    ev.data.ptr = self;\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);\n"
		"    swapcontext(&self->ctx, &loop);          epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);\n"
		"    n = read(fd, buf, sizeof(buf));          // and nobody resumes the coroutine\n"
		"\n"
		"The descriptor stays open and may become readable, but its events go to nobody any more. Data, and\n"
		"the peer's hang-up too, arrive unnoticed.\n"
		"\n"
		"The verdicts mean what they mean for CTP001; see --explain=CTP001.\n"
		"\n"
		"A loop around poll or select registers nothing: there a descriptor is left out of the next set.\n"
		"Reported is one that stood in a set after its waiter suspended, while every loop now sleeps with a\n"
		"set without it.\n"
		"\n"
		"Repair: whoever unregisters a descriptor owns its waiters: resume them with an error, or register\n"
		"it again when the reason for the pause (backpressure, a move to another set) is over.\n"
		"\n"
		"It is not: a pause after an event was delivered, when the waiter is queued to run; a move to another\n"
		"set; a removal by the waiter itself; a descriptor that is registered again before the loop sleeps.\n",
};

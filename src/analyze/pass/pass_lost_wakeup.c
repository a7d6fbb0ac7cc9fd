// SPDX-License-Identifier: MIT
//
// CTP001, lost wakeup: a coroutine is suspended, and somebody else has ended the generation of the
// descriptor that it waits for. The pass examines each pair of a suspended coroutine and an ended
// generation that the tables or the witness name; the obligations decide. A coroutine that closed
// its own descriptor is no victim.
#include "analyze/case/pass.h"

// shutdown() wakes whoever waits for a connection, or to accept one; nothing of the kind exists for others.
static const char *repair(unsigned kind)
{
	switch (kind) {
	case CTP_FD_PIPE:
	case CTP_FD_EVENTFD:
	case CTP_FD_TIMERFD:
	case CTP_FD_SIGNALFD:
		return "resume the waiter first, with an error that it knows (closing wakes nobody, and there is no shutdown "
		       "for this kind), and close when it has returned";
	case CTP_FD_UDP:
		return "resume the waiter first, with an error that it knows (or by shutdown, if the socket is connected), "
		       "and close when it has returned";
	default:
		return NULL; // the pass's
	}
}

static int consider(const struct pass *pass, const struct suspect *s, struct results *out)
{
	if (!s->cand || s->cand->closer == s->state->id)
		return 0;
	struct obligations proof;
	obligations_decide(&proof, s);
	if (proof.verdict == VERDICT_NONE)
		return 0;
	struct verdict_case c;
	case_of_wait(&c, pass, s, out);
	c.proof = proof;
	c.fix = repair(c.fd_kind);
	return results_add(out, &c);
}

// The waits that the coroutine's own slice left behind.
static int by_waits(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_state *state, struct results *out)
{
	for (unsigned i = 0; i < image_nwaits(state); i++) {
		const struct ctp_wait *wait = &state->waits[i];
		struct suspect s = {
			.world = w,
			.image = m,
			.state = state,
			.wait = wait,
			.cand = image_end_of(m, wait->fd, wait->gen),
			.witness =
				witness_find(&m->witness, RULE_LOST_WAKEUP, state->id, wait->fd, wait->gen),
		};
		int r = consider(pass, &s, out);
		if (r)
			return r;
	}
	return 0;
}

static bool has_wait(const struct ctp_state *state, int64_t fd, int64_t gen)
{
	for (unsigned i = 0; i < image_nwaits(state); i++)
		if (state->waits[i].fd == fd && state->waits[i].gen == gen)
			return true;
	return false;
}

// A coroutine that events of the descriptor resumed before, and whose last
// slice neither registered nor read: only the entry as it was names it.
static int by_learning(const struct pass *pass, const struct world *w, const struct image *m,
		       struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->cands.n; i++) {
		const struct ctp_cand *cand = image_cand(m, i);
		const struct ctp_state *state = image_entity(m, cand->was.learned);
		if (cand->kind != CTP_CAND_CLOSE || !cand->was.learned || !state ||
		    !image_suspended(m, state) || has_wait(state, cand->fd, cand->gen))
			continue;
		struct suspect s = {
			.world = w,
			.image = m,
			.state = state,
			.cand = cand,
			.witness =
				witness_find(&m->witness, RULE_LOST_WAKEUP, state->id, cand->fd, cand->gen),
		};
		r = consider(pass, &s, out);
	}
	return r;
}

// Waits that only the engine found out (a row's data leads to the coroutine).
static int by_witness(const struct pass *pass, const struct world *w, const struct image *m,
		      struct results *out)
{
	for (size_t i = 0; i < m->witness.n; i++) {
		const struct witness *seen = &m->witness.items[i];
		const struct ctp_state *state = image_entity(m, seen->coroutine);
		if (seen->rule != RULE_LOST_WAKEUP || !state || !image_suspended(m, state) ||
		    has_wait(state, seen->fd, seen->gen) || seen->fd < 0 || seen->fd > INT32_MAX)
			continue;
		struct suspect s = {
			.world = w,
			.image = m,
			.state = state,
			.witness = seen,
			.cand = image_end_of(m, (int32_t)seen->fd, (uint32_t)seen->gen),
		};
		int r = consider(pass, &s, out);
		if (r)
			return r;
	}
	return 0;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables || !m->closes.n)
			continue;
		for (size_t i = 0; !r && i < m->stations.n; i++) {
			const struct ctp_state *state = image_state(m, i);
			if (image_suspended(m, state))
				r = by_waits(pass, w, m, state, out);
		}
		if (!r)
			r = by_learning(pass, w, m, out);
		if (!r)
			r = by_witness(pass, w, m, out);
	}
	return r;
}

const struct pass pass_lost_wakeup = {
	.rule = rules_id[RULE_LOST_WAKEUP],
	.title = "lost wakeup",
	.run = run,
	.waits = true,
	.claim = "can no longer be woken",
	.likely = "has not been woken: only the program itself could wake it",
	.suspect = "may be asleep for ever",
	.fix = "wake the waiter first: shutdown(fd, SHUT_RDWR), let it run and see EOF in a later "
	       "turn, close when it has returned",
	.explain =
		"A coroutine waits for a descriptor, and other code closes that descriptor.\n"
		"\n"
		"    // coroutine                             // reaper, timeout, error path\n"
		"    ev.data.ptr = self;\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);\n"
		"    while (read(fd, buf, n) < 0 &&\n"
		"           errno == EAGAIN)\n"
		"        swapcontext(&self->ctx, &loop);      conn_drop(c): close(c->fd);\n"
		"    handle(buf);                             // never reached\n"
		"\n"
		"When the last descriptor of an open file is closed, the kernel drops its registration and reports\n"
		"nothing: no event comes, not even an error. The coroutine sleeps for ever, and so does all that it\n"
		"holds.\n"
		"\n"
		"PROVEN   it is suspended, the kernel holds nothing that could wake it, and no code that can still\n"
		"         run can reach it: no pointer to it is left, or the process sleeps for good\n"
		"LIKELY   all of that but the last step: the report names what still leads to it (a table, a timer)\n"
		"SUSPECT  not every thread has slept since, or the program has resumed such a waiter by hand before\n"
		"INCONCLUSIVE  the tables have a gap, or the run ended too early to tell\n"
		"\n"
		"Repair: wake the waiter before the close. shutdown(fd, SHUT_RDWR) makes a socket readable; let the\n"
		"waiter run, see the end of the stream, and close there, or after it has returned. For pipes and\n"
		"eventfds resume the waiter by hand with an error before closing.\n"
		"\n"
		"Not reported: a close by the waiter itself; a dup, a child or a message in flight that keeps the\n"
		"file open; a waiter that the same turn of the loop resumes; the exit of the whole program; a\n"
		"coroutine that was destroyed while it waited.\n",
};

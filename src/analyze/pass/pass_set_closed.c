// SPDX-License-Identifier: MIT
//
// CTP025, epoll set closed: a coroutine is suspended, what it waits for is open, but the epoll set in
// which that was registered has been closed. The pass examines each pair of a suspended coroutine and
// an ended set that the coroutine's own wait, the descriptor's entry or the witness names; the
// obligations decide. A set that is closed at the end of a run is no fault: what the program's exit
// leaves undecided is not reported.
#include "analyze/case/pass.h"
#include "base/text.h"
#include "ctp/words.h"

static void describe(struct verdict_case *c, const struct suspect *s, struct results *out)
{
	char events[96], span[32];
	const struct ctp_wait *w = s->wait;
	const struct ctp_fd *f = w ? image_fd(s->image, w->fd) : NULL;
	uint64_t since = world_ns(s->world, s->state->since);
	uint64_t shot = s->image->snapshot_ns ? s->image->snapshot_ns : s->world->snapshot_ns;
	c->claim = s->wait ? NULL : "waited through an epoll set that is closed";
	for (unsigned i = 0; w && i < c->nevents; i++)
		if (c->events[i].id == c->id && c->events[i].ns == since)
			c->events[i].what =
				results_text(out, "suspends, waiting for fd %d#%u", w->fd, w->gen);
	if (!f)
		return;
	words_events(w->events, events, sizeof(events));
	text_duration(span, sizeof(span), shot > since ? shot - since : 0);
	c->doing = results_text(out, "%s for %s on fd %d#%u (%s), registered in epoll fd %d#%u", span, events,
				w->fd, w->gen, words_kind(f->kind), s->cand->fd, s->cand->gen);
	c->message = results_text(
		out, "fd %d#%u (%s) is open, but epoll fd %d#%u, in which it was registered, is closed",
		w->fd, w->gen, words_kind(f->kind), s->cand->fd, s->cand->gen);
}

static int consider(const struct pass *pass, const struct suspect *s, struct results *out)
{
	struct obligations proof;
	struct verdict_case c;
	if (!s->cand || s->cand->closer == s->state->id || image_ran_since(s->image, s->state))
		return 0;
	obligations_decide(&proof, s);
	bool ending = proof.items[PROOF_P7].holds == HOLDS_FALSE;
	if (proof.verdict == VERDICT_NONE || (proof.verdict == VERDICT_INCONCLUSIVE && ending))
		return 0;
	case_of_wait(&c, pass, s, out);
	describe(&c, s, out);
	c.proof = proof;
	return results_add(out, &c);
}

// The end of the set in which the wait's descriptor, still open, was registered.
static const struct ctp_cand *end_of_set(const struct image *m, const struct ctp_wait *w)
{
	const struct ctp_fd *f = image_fd(m, w->fd);
	const struct ctp_cand *cand = NULL;
	if (!f || f->life != CTP_FD_OPEN || f->gen != w->gen)
		return NULL;
	if (w->how & CTP_WAIT_REGISTERED)
		cand = image_set_end_of(m, w->epfd, w->epgen);
	return cand || f->reg_epfd < 0 ? cand : image_set_end_of(m, f->reg_epfd, f->reg_epgen);
}

static int by_waits(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_state *state, struct results *out)
{
	int r = 0;
	for (unsigned i = 0; !r && i < image_nwaits(state); i++) {
		const struct ctp_cand *cand = end_of_set(m, &state->waits[i]);
		struct suspect s = {
			.world = w,
			.image = m,
			.state = state,
			.wait = &state->waits[i],
			.cand = cand,
			.through = true,
			.witness = cand ? witness_find(&m->witness, RULE_SET_CLOSED, state->id, cand->fd,
						       cand->gen) :
					  NULL,
		};
		r = consider(pass, &s, out);
	}
	return r;
}

// Those without a wait of their own, to which only a registration in the set led.
static int by_witness(const struct pass *pass, const struct world *w, const struct image *m,
		      struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->witness.n; i++) {
		const struct witness *seen = &m->witness.items[i];
		const struct ctp_state *state =
			seen->rule == RULE_SET_CLOSED ? image_entity(m, seen->coroutine) : NULL;
		if (!state || !image_suspended(m, state) || state->nwaits || seen->fd < 0 ||
		    seen->fd > INT32_MAX)
			continue;
		struct suspect s = {
			.world = w,
			.image = m,
			.state = state,
			.witness = seen,
			.through = true,
			.cand = image_set_end_of(m, (int32_t)seen->fd, (uint32_t)seen->gen),
		};
		r = consider(pass, &s, out);
	}
	return r;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables || !m->sets.n)
			continue;
		for (size_t i = 0; !r && i < m->stations.n; i++)
			if (image_suspended(m, image_state(m, i)))
				r = by_waits(pass, w, m, image_state(m, i), out);
		if (!r)
			r = by_witness(pass, w, m, out);
	}
	return r;
}

const struct pass pass_set_closed = {
	.rule = rules_id[RULE_SET_CLOSED],
	.title = "epoll set closed",
	.run = run,
	.waits = true,
	.claim = "waits through an epoll set that is gone",
	.likely = "has not been woken: its epoll set is closed, and only the program itself could wake it",
	.suspect = "waits through an epoll set that is closed",
	.fix = "before the set is closed, resume all coroutines that wait through it, or register their descriptors in the new set",
	.explain =
		"A coroutine waits through an epoll set, and other code closes the set.\n"
		"\n"
		"    co:    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);   registers and suspends\n"
		"    other: close(ep);                               its registrations vanish silently\n"
		"           ep = epoll_create1(0);                   a new, empty set\n"
		"           loop(ep);                                fd is ready, and co sleeps on\n"
		"\n"
		"The descriptor is open and may even be ready, but the set that would have reported it is closed,\n"
		"and no other set has it. This happens if a library's reset, or a child after fork, makes a new set\n"
		"and forgets the registrations of the old one; or if a descriptor number is closed twice, and the\n"
		"second close hits the set.\n"
		"\n"
		"Repair: walk your waiters and register each in the new set, or resume them with an error.\n"
		"\n"
		"Not reported: a set of which a dup is open here or in a child, or in which a thread still sleeps;\n"
		"waiters that were registered again; a set that its own waiter closed; a loop that closes its set as\n"
		"the program ends.\n",
};

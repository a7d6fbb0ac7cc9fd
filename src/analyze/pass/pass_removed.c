// SPDX-License-Identifier: MIT
//
// CTP002, registration removed under a waiter: as CTP001, but it ended by EPOLL_CTL_DEL, or by EPOLL_CTL_MOD
// to a mask without what the coroutine waits for, and the descriptor is still open. A registration made since
// refutes it, and so does an event of the descriptor that came after the coroutine was suspended (it is woken
// and queued then). The tables show that the registration is missing (P3) if the engine did not look.
#include <sys/epoll.h>

#include "analyze/case/left_unread.h"
#include "analyze/case/pass.h"
#include "analyze/case/pauses.h"
#include "analyze/case/stuck.h"
#include "analyze/pass/unpolled.h"
#include "ctp/late.h"
#include "ctp/wait_inference.h"

#define UNREAD_NS 1000000000ULL
#define ADD_IS_DUE "look at what epoll_ctl says: where EPOLL_CTL_MOD fails with ENOENT, EPOLL_CTL_ADD is due"

// wait: NULL if events of it resumed the coroutine before, and it named none.
static uint32_t needed(const struct ctp_wait *wait, const struct ctp_cand *del)
{
	const uint32_t beside = EPOLLRDHUP | EPOLLERR | EPOLLHUP,
		       all = wait ? wait->events : del->was.reg_events;
	return all & ~beside ? all & ~beside : all;
}

// Has the registration that is left still nothing of what it waits for?
static bool is_masked(const struct ctp_fd *now, const struct ctp_wait *wait, const struct ctp_cand *del)
{
	return del->call == CTP_CALL_EPOLL_MOD && now->reg_epfd == del->was.reg_epfd &&
	       !(now->reg_events & needed(wait, del));
}

static bool is_removed(const struct image *m, const struct ctp_state *state, const struct ctp_wait *wait,
		       const struct ctp_cand *del)
{
	const struct ctp_fd *now = image_fd(m, del->fd);
	return now && now->life == CTP_FD_OPEN && now->gen == del->gen &&
	       (now->reg_epfd < 0 || is_masked(now, wait, del)) && !(now->flags & CTP_FD_MANYREGS) &&
	       !image_end_of(m, del->fd, del->gen) && del->closer != state->id &&
	       del->time >= ctp_state_latest(state) && image_polled_by(m, now) == IMAGE_POLLED_OUT;
}

static bool removed_for_good(const struct image *m, const struct ctp_state *state,
			     const struct ctp_wait *wait, const struct ctp_cand *del)
{
	return is_removed(m, state, wait, del) && image_fd(m, del->fd)->event_time < state->since;
}

static int consider(const struct pass *pass, const struct suspect *s, struct results *out)
{
	struct obligations proof;
	obligations_decide(&proof, s);
	bool masked = s->cand->call == CTP_CALL_EPOLL_MOD;
	pauses_weaken(&proof, s, masked); // a mask is what pauses are made by
	if (masked && proof.verdict == VERDICT_PROVEN)
		proof.verdict = VERDICT_LIKELY; // its registration stands: a hang-up would wake it
	if (proof.verdict == VERDICT_NONE ||
	    (proof.verdict == VERDICT_SUSPECT && proof.items[PROOF_P5].holds != HOLDS_TRUE))
		return 0; // programs pause a descriptor and go on in the same turn
	struct verdict_case c;
	case_of_wait(&c, pass, s, out);
	c.proof = proof;
	return results_add(out, &c);
}

static bool suspended(const struct ctp_state *state)
{
	return state->entity == CTP_COROUTINE && state->life == CTP_SUSPENDED;
}

static int by_waits(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_state *state, struct results *out)
{
	int r = 0;
	for (unsigned n = 0; !r && n < image_nwaits(state); n++) {
		const struct ctp_wait *wait = &state->waits[n];
		const struct ctp_cand *del = image_del_of(m, wait->fd, wait->gen);
		if (!del || !removed_for_good(m, state, wait, del))
			continue;
		struct suspect s = {
			.world = w,
			.image = m,
			.state = state,
			.cand = del,
			.wait = wait,
			.witness = witness_find(&m->witness, RULE_REMOVED, state->id, wait->fd, wait->gen)};
		r = consider(pass, &s, out);
	}
	return r;
}

// One that named no wait in its last slice, and stands where events of the descriptor resumed it before.
static int by_learning(const struct pass *pass, const struct world *w, const struct image *m,
		       struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->cands.n; i++) {
		const struct ctp_cand *del = image_cand(m, i);
		const struct ctp_state *state = del->kind == CTP_CAND_DEL &&
								!(del->was.flags & CTP_FD_LISTENS) ?
							image_entity(m, del->was.learned) :
							NULL;
		if (!state || !suspended(state) || image_nwaits(state) ||
		    !ctp_stands_there(&del->was, state) || image_del_of(m, del->fd, del->gen) != del ||
		    !removed_for_good(m, state, NULL, del))
			continue;
		struct suspect s = {
			.world = w,
			.image = m,
			.state = state,
			.cand = del,
			.witness = witness_find(&m->witness, RULE_REMOVED, state->id, del->fd, del->gen)};
		r = consider(pass, &s, out);
	}
	return r;
}

// Bytes of it were there whenever the kernel was asked, for a second or more since the coroutine suspended.
static bool is_unread(const struct world *w, const struct ctp_state *state, const struct descriptor *d)
{
	return d && d->unread > 0 && d->ready_ns && d->ns >= d->ready_ns + UNREAD_NS &&
	       d->ready_ns >= world_ns(w, state->since);
}

// Its last try was a read of the descriptor in vain, something else has resumed it since, and it named no
// wait when it suspended again. Now there is something to read, and nobody is told: the registration's last
// event, if it had one, was dropped with it. Or it does not want that now.
static int by_unread(const struct pass *pass, const struct world *w, const struct image *m,
		     const struct ctp_state *state, struct results *out)
{
	int32_t fd = (int32_t)(state->tried >> 32);
	uint32_t gen = (uint32_t)state->tried;
	const struct ctp_fd *now = state->tried && !image_nwaits(state) ? image_fd(m, fd) : NULL;
	const struct ctp_cand *del = now && now->last_in == state->id ? image_del_of(m, fd, gen) : NULL;
	if (!del || ctp_stands_there(now, state) || !is_removed(m, state, NULL, del) ||
	    !is_unread(w, state, descriptors_find(&m->descriptors, fd, gen)))
		return 0;
	struct suspect s = {.world = w,
			    .image = m,
			    .state = state,
			    .cand = del,
			    .witness = witness_find(&m->witness, RULE_REMOVED, state->id, fd, gen)};
	struct verdict_case c;
	struct obligations proof;
	obligations_decide(&proof, &s);
	if (!stuck_holds(&proof, PROOF_P0) || !stuck_holds(&proof, PROOF_P5) || !left_unread_place(&s))
		return 0;
	case_of_wait(&c, pass, &s, out);
	c.proof = proof;
	c.proof.verdict = VERDICT_SUSPECT;
	c.proof.items[PROOF_P2] = (struct obligation){
		HOLDS_OPEN,
		results_text(out,
			     "it read fd %d#%u in vain before, and what came since is unread: that "
			     "it suspended for that is not sure",
			     fd, gen)};
	c.claim = "may wait for what is there to be read of a descriptor that is registered nowhere";
	return results_add(out, &c);
}

// By itself, or when it had suspended.
static bool is_refused(const struct suspect *s)
{
	const struct ctp_fd *f = s->wait ? image_fd(s->image, s->wait->fd) : NULL;
	bool on_its_behalf = f && f->gen == s->wait->gen && f->reg_epfd < 0 && (f->flags & CTP_FD_REFUSED) &&
			     (s->wait->how & CTP_WAIT_EAGAIN) && f->reg_time >= ctp_state_latest(s->state);
	return on_its_behalf || (s->wait && (s->wait->how & CTP_WAIT_REFUSED));
}

// What it waits for is no longer registered at all: its event was the last.
static bool is_unregistered(const struct suspect *s)
{
	const struct ctp_fd *f = image_fd(s->image, (int32_t)s->witness->fd);
	return !is_refused(s) && !s->witness->wrong_mask && !s->witness->wrote && f &&
	       f->gen == (uint32_t)s->witness->gen && f->reg_epfd < 0;
}

// What had to wait was a connect: nothing was read or written yet.
static bool connects(const struct ctp_fd *fd)
{
	return fd && !fd->last_in && !fd->last_out;
}

// It wrote in vain, and asks for what there is to be read: it may want the answer first.
static bool is_wrote(const struct suspect *s)
{
	return s->wait && ((s->wait->how & CTP_WAIT_WROTE) || s->witness->wrote) && !is_refused(s);
}

// Whose own EPOLL_CTL_MOD failed, as there was no registration, or who came to wait for what the registration
// left out already: only the engine saw that it does so still.
static enum verdict of_open(const struct suspect *s, const struct obligations *o)
{
	if (o->weak && (is_unregistered(s) || left_unread_only(s)))
		return left_unread_conclude(s, o);
	if (o->weak)
		return stuck_holds(o, PROOF_P0) && stuck_holds(o, PROOF_P5) ? VERDICT_SUSPECT : VERDICT_NONE;
	struct obligations so = *o;
	so.verdict = stuck_conclude(o, true);
	if (!is_refused(s))
		pauses_weaken(&so, s, true);
	if (!s->wait && so.verdict > VERDICT_SUSPECT && !proof_beyond_reach(obligations_held(o)))
		so.verdict = VERDICT_SUSPECT; // nothing told it to wait for more
	if ((is_wrote(s) || s->witness->wrong_mask) && so.verdict > VERDICT_SUSPECT)
		so.verdict = VERDICT_SUSPECT;
	return so.verdict == VERDICT_PROVEN ? VERDICT_LIKELY : so.verdict;
}

// What was registered for one event is taken out by whoever takes that, mostly a library.
static void describe_unregistered(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	const struct ctp_cand *del = image_del_of(c->about.image, c->fd, c->gen);
	if (ctp_wait_full(c->about.wait)) {
		c->claim =
			"found no descriptor free for a connection, and waits: its listener is registered nowhere, "
			"though one is free now";
		return;
	}
	if (fd->flags & CTP_FD_REFUSED) {
		c->claim =
			"waits for a descriptor that is ready, and registered nowhere: an EPOLL_CTL_MOD of it failed with "
			"ENOENT";
		c->fix = ADD_IS_DUE;
	} else if (fd->polled || fd->polled_out) {
		c->claim = "waits for a descriptor that is ready, and in no loop's set since its last event";
		c->fix =
			"keep the descriptor in the set while somebody waits for it, or put it back before each wait";
	} else if (!fd->event_time) {
		c->claim =
			"waits for a descriptor that is ready, and registered nowhere: its registration was removed before "
			"the wait";
		c->fix =
			"delete a registration before its descriptor is closed: later, its number may be another's";
	} else {
		c->claim =
			"waits for a descriptor that is ready, and registered nowhere since its last event";
		c->fix =
			"register it again before each wait: what is registered for one event is gone with it";
	}
	if (fd->event_time)
		case_event(c, fd->event_time, 0,
			   results_text(out, "the last event of fd %d#%u comes", c->fd, c->gen));
	else if (fd->reg_time)
		case_event(c, fd->reg_time, fd->reg_by,
			   results_text(out, "registers fd %d#%u", c->fd, c->gen));
	if (del)
		c->actor = (struct case_party){.did = "removed by",
					       .id = del->closer,
					       .call = "epoll_ctl",
					       .ticks = del->time,
					       .stack = del->closer_stack};
}

// polled: by poll or select. connect: that is what had to wait.
static void describe_wrote(struct verdict_case *c, bool polled, bool connect)
{
	static const char *const claims[2][2] = {
		{"wrote until EAGAIN, and is registered for EPOLLIN, not for EPOLLOUT",
		 "began to connect, and is registered for EPOLLIN, not for EPOLLOUT"},
		{"wrote until EAGAIN, and is polled for what there is to be read alone",
		 "began to connect, and is polled for what there is to be read alone"}};
	static const char *const fixes[2][2] = {
		{"where a write says EAGAIN, register the descriptor for EPOLLOUT before the wait",
		 "where connect says EINPROGRESS, register the descriptor for EPOLLOUT before the wait"},
		{"where a write says EAGAIN, ask for POLLOUT (select's second set) before the wait",
		 "where connect says EINPROGRESS, ask for POLLOUT (select's second set) before the wait"}};
	c->claim = claims[polled][connect];
	c->fix = fixes[polled][connect];
}

static void describe_open(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (is_refused(&c->about)) {
		c->claim =
			"waits for a descriptor that is registered nowhere: its EPOLL_CTL_MOD failed with ENOENT";
		c->fix = ADD_IS_DUE;
	} else if (fd && is_unregistered(&c->about)) {
		describe_unregistered(c, fd, out);
	} else if (c->about.witness->wrong_mask) {
		c->claim = "read until EAGAIN, and asks for events that do not tell of what is to be read";
		c->fix =
			"where a read says EAGAIN, ask for EPOLLIN (POLLIN, select's first set) before the wait";
		if (fd && fd->reg_epfd >= 0)
			case_event(c, fd->reg_time, fd->reg_by,
				   results_text(out, "registers fd %d#%u for other events", c->fd, c->gen));
	} else if (left_unread_only(&c->about)) {
		c->claim =
			"may wait for what is there to be read of a descriptor whose registration asks for nothing";
		c->fix =
			"give the interest back by what stays the same meanwhile: the descriptor, not a place in a list";
		if (fd)
			case_event(c, fd->reg_time, fd->reg_by,
				   results_text(out, "registers fd %d#%u for no events", c->fd, c->gen));
	} else {
		c->claim = "waits for an event that its descriptor's registration leaves out";
		c->fix = "register the descriptor for what is waited for before each wait";
		if (is_wrote(&c->about))
			describe_wrote(c, !fd || fd->reg_epfd < 0, connects(fd));
		if (fd && fd->reg_epfd >= 0)
			case_event(c, fd->reg_time, fd->reg_by,
				   results_text(out, "registers fd %d#%u for other events", c->fd, c->gen));
	}
	c->refuted = results_text(
		out,
		is_wrote(&c->about) ?
			"the rest is to wait for what fd %d#%u brings, or the program resumes the coroutine by hand" :
			"the program registers fd %d#%u for it later, or resumes the coroutine by hand",
		c->fd, c->gen);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {of_open, describe_open};
	int r = stuck_run(pass, w, out, &terms);
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables)
			continue;
		r = unpolled_find(pass, w, m, out);
		for (size_t i = 0; !r && m->dels.n && i < m->stations.n; i++)
			if (suspended(image_state(m, i)))
				r = by_waits(pass, w, m, image_state(m, i), out);
		for (size_t i = 0; !r && m->dels.n && i < m->stations.n; i++)
			if (suspended(image_state(m, i)))
				r = by_unread(pass, w, m, image_state(m, i), out);
		if (!r)
			r = by_learning(pass, w, m, out);
	}
	return r;
}

const struct pass pass_removed = {
	.rule = rules_id[RULE_REMOVED],
	.title = "registration removed",
	.run = run,
	.waits = true,
	.claim = "waits for a descriptor that no thread polls any more",
	.likely = "has not been woken: only the program itself could wake it",
	.suspect = "may be asleep for ever",
	.fix = "resume the waiter when its registration is removed, or register the descriptor again",
	.explain =
		"A coroutine waits for a descriptor, and other code removes the descriptor from the epoll set.\n"
		"\n"
		"    // coroutine                             // elsewhere\n"
		"    ev.data.ptr = self;\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);\n"
		"    swapcontext(&self->ctx, &loop);          epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);\n"
		"    n = read(fd, buf, sizeof(buf));          // and nobody resumes the coroutine\n"
		"\n"
		"The descriptor stays open and may become readable, but no thread gets its events any more. Data,\n"
		"and the peer's hang-up too, arrive unnoticed.\n"
		"\n"
		"The verdicts have the same meaning as for CTP001; see --explain=CTP001.\n"
		"\n"
		"EPOLL_CTL_MOD to a mask of 0, or to one without EPOLLIN, has the same effect. Programs also do this\n"
		"to pause a connection: it is SUSPECT until every loop has slept ten times as long as ever before.\n"
		"An EPOLL_CTL_MOD that fails with ENOENT registers nothing: a coroutine that ignores the error and\n"
		"waits is never woken. Where a scheduler does so on behalf of a coroutine that wrote, and the answer\n"
		"stays unread, that is SUSPECT.\n"
		"\n"
		"What is registered for one event is gone with it, as libevent does it without EV_PERSIST: a\n"
		"coroutine that waits again, and does not register again, hears nothing. It is reported if the\n"
		"descriptor is ready. The same holds where EPOLL_CTL_DEL came before the coroutine read in vain, such\n"
		"as of a number that was closed and is another's by then.\n"
		"\n"
		"A coroutine asks for the wrong event, in epoll, poll or select; SUSPECT:\n"
		"- its write said EAGAIN, it asks for EPOLLIN alone, and the descriptor is writable (it may want\n"
		"  the peer's answer first);\n"
		"- its connect said EINPROGRESS, it asks for EPOLLIN alone, and the connect is done;\n"
		"- its read said EAGAIN, it asks for urgent data (EPOLLPRI) or for the peer's end (EPOLLRDHUP)\n"
		"  alone, or for EPOLLOUT of the reading end of a pipe, and there is something to read.\n"
		"\n"
		"One that took its own interest away after it had read something, and stands without a known wait\n"
		"while bytes stay unread, is SUSPECT if nobody ever went on from there: to give the interest back may\n"
		"have been forgotten. A set that poll or select was given without the descriptor may be a pause, too:\n"
		"SUSPECT.\n"
		"\n"
		"Where something else resumed a coroutine that had read in vain, such as its deadline, and it waits\n"
		"again without a registration while bytes stay unread, that is SUSPECT as well.\n"
		"\n"
		"A loop around poll or select has no registrations; there, the descriptor is missing in the next\n"
		"set, or its row asks for nothing. CTP002 is reported if every loop now sleeps with a set that lacks\n"
		"it, and it was in a set after its waiter suspended, or has been ready since; not while a loop waits\n"
		"for a descriptor that is full: what would be read may have no place to go.\n"
		"\n"
		"Repair: whoever unregisters a descriptor owns its waiters: resume them with an error, or register\n"
		"it again when the reason for the pause (backpressure, a move to another set) is over.\n"
		"\n"
		"Not reported: a pause after an event was delivered, when the waiter is queued to run; a move to\n"
		"another set; a removal by the waiter itself; a descriptor that is registered again before the loop\n"
		"sleeps.\n",
};

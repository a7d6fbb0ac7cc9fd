// SPDX-License-Identifier: MIT
//
// CTP004, missed edge: the registration is edge-triggered, the descriptor is ready now for what the
// coroutine waits for, and no event came since it was suspended. A peer that keeps sending makes a
// new edge, so more than SUSPECT needs the peer's end in this process, where every thread sleeps.
#include <inttypes.h>

#include "analyze/case/left_unread.h"
#include "analyze/case/stuck.h"
#include "ctp/wait_inference.h"

#define LONG_NS 1000000000ULL

// The other end of a pipe or socketpair, held by this process alone.
static bool peer_here(const struct suspect *s)
{
	const struct image *m = s->image;
	const struct ctp_fd *fd = image_fd(m, (int32_t)s->witness->fd);
	if (!fd || !fd->peer_desc || m->ext.forks || m->ext.inherited)
		return false;
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *other = table_row(&m->fds, i);
		if (other->life == CTP_FD_OPEN && other->desc == fd->peer_desc)
			return true;
	}
	return false;
}

// It read some of what an event told it of, and waits now, for the next one, or for something else.
static bool stopped_short(const struct suspect *s)
{
	const struct ctp_fd *fd = image_fd(s->image, (int32_t)s->witness->fd);
	return fd && fd->gen == (uint32_t)s->witness->gen && ctp_stopped_short(fd, s->state);
}

// It wrote last, and has stood for long, as one may who has sent enough for one turn, and waits for room:
// there where nobody ever went on from, or others wait for descriptors.
static bool sent_short(const struct suspect *s, const struct obligations *o)
{
	const struct ctp_fd *fd = image_fd(s->image, (int32_t)s->witness->fd);
	uint64_t shot = s->image->snapshot_ns ? s->image->snapshot_ns : s->world->snapshot_ns;
	return s->witness->sent && fd && fd->gen == (uint32_t)s->witness->gen &&
	       ctp_sent_short(fd, s->state) && stuck_holds(o, PROOF_P0) && stuck_holds(o, PROOF_P5) &&
	       world_ns(s->world, s->state->since) + LONG_NS <= shot && left_unread_place(s);
}

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	if (s->witness->sent)
		return sent_short(s, o) ? VERDICT_SUSPECT : VERDICT_NONE;
	if (o->weak && stopped_short(s))
		return VERDICT_SUSPECT;
	return stuck_conclude(o, peer_here(s));
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (fd)
		case_event(c, fd->event_time, 0,
			   results_text(out, "the last event of fd %d#%u", c->fd, c->gen));
	if (c->about.witness->sent) {
		c->claim = "may wait for room that was there all the time: no edge tells of it";
		c->fix =
			"with EPOLLET, write until EAGAIN before a wait for EPOLLOUT; to give way to others, yield without one";
		c->refuted = results_text(
			out, "it does not wait for room on fd %d#%u, or the program's own code resumes it",
			c->fd, c->gen);
	} else if (c->proof.verdict < VERDICT_PROVEN)
		c->refuted = results_text(
			out,
			"the peer sends again, which makes a new edge, or the program's own code "
			"resumes coroutine %" PRIu64,
			c->id);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	return stuck_run(pass, w, out, &terms);
}

const struct pass pass_missed_edge = {
	.rule = rules_id[RULE_MISSED_EDGE],
	.title = "missed edge",
	.run = run,
	.waits = true,
	.claim = "waits for an edge that has passed",
	.likely = "waits for an edge that has passed, and its peer waits too",
	.suspect = "may wait for an edge that has passed",
	.fix = "with EPOLLET, repeat the call until it returns EAGAIN before each wait, or register level-triggered",
	.explain =
		"A descriptor is registered edge-triggered, and the coroutine waits although something is left to\n"
		"read (or room to write).\n"
		"\n"
		"    ev.events = EPOLLIN | EPOLLET;\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);\n"
		"    for (;;) {\n"
		"        swapcontext(&self->ctx, &loop);      // one event for 5,000 bytes\n"
		"        n = read(fd, buf, 4096);             // 904 stay, and make no event\n"
		"        handle(buf, n);\n"
		"    }\n"
		"\n"
		"An edge-triggered event reports a change, not a state: data that was there before makes no event.\n"
		"If the peer waits for an answer to what was left unread, both wait for ever. The same happens if,\n"
		"between the last read and the switch, another thread takes the event and finds nobody waiting.\n"
		"\n"
		"PROVEN   the descriptor is ready, its registration is armed and edge-triggered, and the process\n"
		"         sleeps for good\n"
		"LIKELY   the other end is in this process, where every thread sleeps\n"
		"SUSPECT  the peer may send again, which makes a new edge; or the coroutine may know that there is\n"
		"         more, and wait for something else first. Or it wrote last, and all that it gave was taken:\n"
		"         who sends so much in one turn, and then waits for EPOLLOUT, waits for room that it had all\n"
		"         the time. That it waits for room is not sure: nobody ever went on from where it stands\n"
		"\n"
		"Repair: read or write until EAGAIN before each wait, or remember that the descriptor is still ready.\n"
		"\n"
		"Not reported: a short read of all that there was; fewer bytes than SO_RCVLOWAT; an idle connection\n"
		"with an empty queue; a coroutine that waits for something else and comes back to the rest.\n",
};

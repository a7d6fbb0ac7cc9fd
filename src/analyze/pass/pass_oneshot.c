// SPDX-License-Identifier: MIT
//
// CTP005, one-shot not re-armed: a one-shot registration has fired, is dead until somebody modifies
// it, and a coroutine waits for it. Every thread must have slept since: a loop may re-arm it after
// the switch. A coroutine of which only a try is known may have been suspended for something else,
// with the registration dead on purpose; that counts only if nobody else can resume it.
#include <inttypes.h>

#include "analyze/case/left_unread.h"
#include "analyze/case/stuck.h"
#include "ctp/late.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	bool p6 = proof_beyond_reach(obligations_held(o));
	if (o->weak)
		return p6 && !left_unread_only(s) ? VERDICT_LIKELY : left_unread_conclude(s, o);
	if (p6)
		return stuck_sure(o) ? VERDICT_PROVEN : VERDICT_LIKELY;
	return stuck_holds(o, PROOF_P5) ? VERDICT_LIKELY : VERDICT_SUSPECT;
}

// Another open descriptor that is registered in the same set with the same data, for another coroutine; -1:
// none. Whom an event resumes the loop finds by its data.
static int32_t twin_of(const struct verdict_case *c, const struct ctp_fd *fd)
{
	const struct image *m = c->about.image;
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		uint64_t in = f->waiter[0] & CTP_ID_MASK, out = f->waiter[1] & CTP_ID_MASK;
		if (f->life == CTP_FD_OPEN && f->desc != fd->desc && fd->reg_epfd >= 0 &&
		    f->reg_epfd == fd->reg_epfd && f->reg_epgen == fd->reg_epgen &&
		    f->reg_data == fd->reg_data && (in || out) && in != c->id && out != c->id)
			return (int32_t)table_index(&m->fds, i);
	}
	return -1;
}

// Its event came, and was dropped; or it is not known to have come, and may have resumed another.
static void describe_event(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	bool came = fd->event_time >= ctp_state_latest(c->about.state);
	int32_t twin = came ? -1 : twin_of(c, fd);
	if (came) {
		if (c->proof.verdict == VERDICT_SUSPECT)
			c->claim =
				"was not resumed by the event of its one-shot registration, which is disarmed since";
		c->fix =
			"resume the waiter for every event that epoll returns; where one is dropped, arm the "
			"registration again: epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev) with EPOLLONESHOT";
	} else if (twin >= 0) {
		if (c->proof.verdict == VERDICT_SUSPECT)
			c->claim = results_text(
				out,
				"waits for a one-shot registration that has fired, and fd %d is registered with the "
				"same data: the event may have resumed the waiter of that one",
				twin);
		c->fix = results_text(
			out,
			"give each registration data that leads to its own waiter: fd %d and fd %d "
			"have the same (0x%" PRIx64 ")",
			c->fd, twin, fd->reg_data);
	}
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (!fd)
		return;
	describe_event(c, fd, out);
	case_event(c, fd->reg_time, fd->reg_by, results_text(out, "arms fd %d#%u", c->fd, c->gen));
	case_event(c, fd->event_time, 0,
		   results_text(out, "an event of fd %d#%u comes, and disarms it", c->fd, c->gen));
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	return stuck_run(pass, w, out, &terms);
}

const struct pass pass_oneshot = {
	.rule = rules_id[RULE_ONESHOT],
	.title = "one-shot not re-armed",
	.run = run,
	.waits = true,
	.claim = "waits for a one-shot registration that has fired, and can no longer be woken",
	.likely = "waits for a one-shot registration that has fired: only the program itself could wake it",
	.suspect = "may wait for a one-shot registration that has fired",
	.fix = "arm it again before each wait: epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev) with EPOLLONESHOT, also where an event "
	       "came that nobody waited for",
	.explain =
		"A descriptor is registered with EPOLLONESHOT, its event came, and nobody armed it again.\n"
		"\n"
		"    ev.events = EPOLLIN | EPOLLONESHOT;\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);   // once, when the connection was made\n"
		"    for (;;) {\n"
		"        while (read(fd, buf, n) < 0 && errno == EAGAIN)\n"
		"            swapcontext(&self->ctx, &loop);  // woken the first time, never again\n"
		"        handle(buf);\n"
		"    }\n"
		"\n"
		"After one event the kernel keeps the registration, but disarmed (0x40000000 in fdinfo): it reports\n"
		"no data, no error and no hang-up until EPOLL_CTL_MOD arms it again. The same happens if the event\n"
		"came for one of two waiters, or before there was one, and the loop dropped it.\n"
		"\n"
		"An acceptor whose accept failed with EMFILE does so, if it waits for a free descriptor and is not\n"
		"resumed: SUSPECT, once a descriptor is free, and a connection waits.\n"
		"\n"
		"PROVEN   the registration is disarmed, and no code that can still run leads to the coroutine, or\n"
		"         the process sleeps for good\n"
		"LIKELY   every thread has slept since; the program's own code could still arm it or resume the\n"
		"         coroutine\n"
		"SUSPECT  not every thread has slept yet, or the loop has a timeout, after which it may still take up\n"
		"         the event that it put off; or bytes stay unread, but that the coroutine waits for them is\n"
		"         not sure\n"
		"\n"
		"Repair: EPOLL_CTL_MOD before each wait, or after each event, for every direction that has a waiter.\n"
		"\n"
		"Not reported: an event that is still in a batch, a queue or a busy worker; a registration that the\n"
		"loop arms after the switch; a coroutine that does something else meanwhile and arms it later; the\n"
		"other direction under a dup.\n",
};

// SPDX-License-Identifier: MIT
//
// CTP005, one-shot not re-armed: a one-shot registration has fired, is dead until somebody modifies
// it, and a coroutine waits for it. Every thread must have slept since: a loop may re-arm it after
// the switch. A coroutine of which only a try is known may have been suspended for something else,
// with the registration dead on purpose; that counts only if nobody else can resume it.
#include "analyze/case/stuck.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	bool p6 = proof_beyond_reach(obligations_held(o));
	(void)s;
	if (o->weak)
		return p6 ? VERDICT_LIKELY : VERDICT_NONE;
	if (p6)
		return stuck_sure(o) ? VERDICT_PROVEN : VERDICT_LIKELY;
	return stuck_holds(o, PROOF_P5) ? VERDICT_LIKELY : VERDICT_SUSPECT;
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (!fd)
		return;
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
		"         the event that it put off\n"
		"\n"
		"Repair: EPOLL_CTL_MOD before each wait, or after each event, for every direction that has a waiter.\n"
		"\n"
		"Not reported: an event that is still in a batch, a queue or a busy worker; a registration that the\n"
		"loop arms after the switch; a coroutine that does something else meanwhile and arms it later; the\n"
		"other direction under a dup.\n",
};

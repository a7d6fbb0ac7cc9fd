// SPDX-License-Identifier: MIT
//
// CTP008, event delivered, never resumed: epoll returned an event of what the coroutine waits for
// after it was suspended, the descriptor is still ready for it, every thread has slept since, and
// it has not run. Not reported while the program has timers of its own: it may have postponed the
// resume.
#include "analyze/case/left_unread.h"
#include "analyze/case/stuck.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	if (o->weak)
		return left_unread_conclude(s, o);
	return stuck_conclude(o, stuck_holds(o, PROOF_P2));
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (fd)
		case_event(c, fd->event_time, 0,
			   results_text(out, "epoll returns an event of fd %d#%u", c->fd, c->gen));
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	return stuck_run(pass, w, out, &terms);
}

const struct pass pass_delivered = {
	.rule = rules_id[RULE_DELIVERED],
	.title = "event delivered, never resumed",
	.run = run,
	.waits = true,
	.claim = "was not resumed by the event that it waits for, and nothing can happen any more",
	.likely = "was not resumed by the event that it waits for",
	.suspect = "may have been forgotten when the event came that it waits for",
	.fix = "resume the waiter for every event that epoll returns, or note the event so that the next wait finds it",
	.explain =
		"The event came, but the code that took it did not resume the coroutine that waits for it.\n"
		"\n"
		"    n = epoll_wait(ep, events, 64, -1);\n"
		"    for (i = 0; i < n; i++) {\n"
		"        c = events[i].data.ptr;\n"
		"        if (c->state != WAITING)             // not yet: it is on its way into the wait\n"
		"            continue;                        // the event is gone\n"
		"        swapcontext(&loop, &c->ctx);\n"
		"    }\n"
		"\n"
		"An edge-triggered event does not come again: the descriptor is ready, all threads sleep, and the\n"
		"coroutine waits.\n"
		"\n"
		"PROVEN   as LIKELY, and the process sleeps for good\n"
		"LIKELY   it has no other wait, and every thread has slept since the event came\n"
		"SUSPECT  one of these is not known, and bytes stay unread, or the end of what the peer sends\n"
		"\n"
		"Repair: remember an event that has no waiter, and check for it before each wait.\n"
		"\n"
		"Not reported: an event that is still in a queue or with a busy worker; a resume that waits for a\n"
		"timer; an event for another waiter of the same descriptor, which took all data; a hang-up or an\n"
		"error that was not registered for.\n",
};

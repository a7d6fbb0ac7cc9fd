// SPDX-License-Identifier: MIT
//
// CTP009, wrong waiter woken: the registration leads to another coroutine, which an event resumed after
// this one was suspended for the descriptor, and the descriptor is still ready for this one. Programs
// that pass events on look the same, so it is never more than SUSPECT.
#include "analyze/case/stuck.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	(void)s;
	(void)o;
	return VERDICT_SUSPECT;
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	uint64_t id = fd ? fd->leads & CTP_ID_MASK : 0;
	const struct ctp_state *other = id ? image_entity(c->about.image, id) : NULL;
	if (!other)
		return;
	c->actor = (struct case_party){
		.did = "woken instead", .id = id, .ticks = other->since, .stack = other->stack};
	case_event(c, other->since, id,
		   results_text(out, "suspends again, after the event of fd %d#%u", c->fd, c->gen));
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	return stuck_run(pass, w, out, &terms);
}

const struct pass pass_wrong_waiter = {
	.rule = rules_id[RULE_WRONG_WAITER],
	.title = "wrong waiter woken",
	.run = run,
	.waits = true,
	.claim = "waits for an event that resumed another coroutine",
	.fix = "let the registration's data lead to whoever waits now: EPOLL_CTL_MOD with its own data before each wait",
	.explain =
		"An event of the descriptor resumed a coroutine other than the one that waits for it.\n"
		"\n"
		"    ev.data.ptr = self;                      // the one that accepted the connection\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);\n"
		"    start(worker, fd);\n"
		"    ...\n"
		"    // worker\n"
		"    while (read(fd, buf, n) < 0 && errno == EAGAIN)\n"
		"        swapcontext(&self->ctx, &loop);      // the event resumes the acceptor\n"
		"\n"
		"The acceptor finds nothing to do with it, and the worker sleeps on.\n"
		"\n"
		"SUSPECT  always: a program may pass events on by its own means\n"
		"\n"
		"Another coroutine or thread may also read what this one alone waits for, as a reset that empties an\n"
		"eventfd. One that helps out and does the work looks the same, so it is a fact with the place of the\n"
		"read, and the coroutine counts as undecided until it has read again.\n"
		"\n"
		"Repair: set the data to the waiter before each wait, or look the waiter up by descriptor and\n"
		"direction when the event comes.\n"
		"\n"
		"Not reported: a reader and a writer of one socket; several acceptors of one listener; a\n"
		"demultiplexer that reads for others; several workers that wait for one descriptor.\n",
};

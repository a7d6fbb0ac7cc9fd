// SPDX-License-Identifier: MIT
//
// CTP027, timer never armed: a coroutine waits for a timerfd that it made
// itself, and the kernel says that no expiry is set and none is to be read. One
// that another made is left alone: managers of timers wait so when there are none.
#include <inttypes.h>

#include "analyze/stuck.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	(void)s;
	return stuck_conclude(o, true);
}

static void tell(struct verdict_case *c, const struct ctp_fd *fd, struct found *out)
{
	if (fd && fd->set_stack)
		c->actor = (struct case_party){ .did = "set by", .call = "timerfd_settime", .stack = fd->set_stack,
						.id = fd->last_out & CTP_FD_UNNAMED ? 0 : fd->last_out & CTP_ID_MASK };
	if (c->proof.verdict < VERDICT_PROVEN)
		c->refuted = found_text(out, "the program arms timerfd %d#%u later, or resumes coroutine %" PRIu64 " by hand",
					c->fd, c->gen, c->id);
}

static int run(const struct pass *pass, const struct world *w, struct found *out)
{
	static const struct stuck_terms terms = { conclude, tell };
	return stuck_run(pass, w, out, &terms);
}

const struct pass pass_timer = {
	.rule = "CTP027",
	.title = "timer never armed",
	.run = run,
	.waits = true,
	.claim = "waits for a timer that has no expiry, and nothing can set one any more",
	.likely = "waits for a timer that has no expiry",
	.suspect = "may wait for a timer that has no expiry",
	.fix = "set an it_value other than zero: an all-zero timerfd_settime disarms; for \"at once\" use 1 ns",
	.explain =
		"A coroutine waits for a timerfd that is not armed.\n"
		"\n"
		"    tfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);\n"
		"    t.it_value.tv_sec = ms / 1000;\n"
		"    t.it_value.tv_nsec = ms % 1000 * 1000000;\n"
		"    timerfd_settime(tfd, 0, &t, NULL);       // ms is 0: this disarms\n"
		"    while (read(tfd, &n, 8) < 0 && errno == EAGAIN)\n"
		"        swapcontext(&self->ctx, &loop);      // never woken\n"
		"\n"
		"A timer whose it_value is zero does not expire: a delay that was rounded down, a deadline taken from\n"
		"an empty configuration, a settime that was forgotten, or one that another part took back.\n"
		"\n"
		"PROVEN   and the process is quiet: nobody is left who could arm it\n"
		"LIKELY   every thread has slept since\n"
		"SUSPECT  not every thread has slept yet\n"
		"\n"
		"Repair: treat a delay of zero as \"go on\" without a timer, or as 1 ns.\n"
		"\n"
		"It is not: a coroutine that also waits for something else; a manager that waits while there are no\n"
		"timers, on a timerfd made for it; a timer that has expired and was not read yet.\n",
};

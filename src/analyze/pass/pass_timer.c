// SPDX-License-Identifier: MIT
//
// CTP027, timer never armed: a coroutine waits for a timerfd of which the kernel says that no expiry is set
// and none can be read. It made or set the timer itself, or nobody has set it yet. Managers of timers wait so
// when there are no timers: others set theirs, and it has expired before; or nobody has set it yet, and a
// loop has one. So one that others made and set counts only if nothing can happen any more, or if it is the
// odd one among periodic timers that were made in one place.
#include <inttypes.h>

#include "analyze/case/stuck.h"
#include "analyze/pass/timer_taken.h"
#include "ctp/wait_inference.h"

// Did another coroutine make one in the same place, for the same loop, that nobody has set either? Where
// somebody else sets one of them, as a watchdog's by who begins something, all may be so.
static bool one_of_many(const struct suspect *s, const struct ctp_fd *fd)
{
	bool many = false;
	for (size_t i = 0; i < s->image->fds.n; i++) {
		const struct ctp_fd *other = table_row(&s->image->fds, i);
		if (other->kind != CTP_FD_TIMERFD || other->opener_stack != fd->opener_stack)
			continue;
		if (other->last_out && !ctp_timer_own(other, other->opener))
			return false;
		many |= other->life == CTP_FD_OPEN && !other->last_out && other->opener != fd->opener &&
			other->reg_epfd == fd->reg_epfd && other->reg_epgen == fd->reg_epgen;
	}
	return many;
}

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	const struct ctp_fd *fd = image_fd(s->image, (int32_t)s->witness->fd);
	uint64_t id = s->state->id;
	if (fd && ctp_timer_of_others(fd, id)) // or who waits so serves them, and has nothing to do
		return s->witness->ticking || (stuck_sure(o) && stuck_holds(o, PROOF_P6B)) ? VERDICT_SUSPECT :
											     VERDICT_NONE;
	if (fd && !ctp_timer_set_by(fd, id) && fd->last_out && fd->last_in)
		return VERDICT_NONE; // others set it, and it has expired before
	bool used = fd && ctp_timer_used(fd, id);
	return stuck_conclude(o, fd && ((ctp_timer_own(fd, id) && !used) ||
					(fd->opener == id && !fd->last_out && one_of_many(s, fd))));
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (fd && fd->set_stack)
		c->actor = (struct case_party){
			.did = "set by",
			.call = "timerfd_settime",
			.stack = fd->set_stack,
			.id = fd->last_out & CTP_FD_UNNAMED ? 0 : fd->last_out & CTP_ID_MASK};
	const struct ctp_incident *taken = image_taken(c->about.image, c->about.state);
	if (taken) // it did expire
		c->actor = (struct case_party){.did = "expiry read by",
					       .call = NULL,
					       .id = taken->value[1] & CTP_FD_UNNAMED ? 0 : taken->value[1],
					       .ticks = taken->value[0],
					       .stack = taken->stack};
	if (c->proof.verdict < VERDICT_PROVEN)
		c->refuted = results_text(
			out, "the program arms timerfd %d#%u later, or resumes coroutine %" PRIu64 " by hand",
			c->fd, c->gen, c->id);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	int r = stuck_run(pass, w, out, &terms);
	for (size_t k = 0; !r && k < w->nimages; k++)
		r = timer_taken(pass, w, &w->images[k], out);
	return r;
}

const struct pass pass_timer = {
	.rule = rules_id[RULE_TIMER],
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
		"A timer whose it_value is zero does not expire. Causes: a delay that was rounded down, a deadline\n"
		"from an empty configuration, a forgotten timerfd_settime, or other code that disarmed the timer.\n"
		"\n"
		"PROVEN   as LIKELY, and the process sleeps for good: no code can run that could arm it\n"
		"LIKELY   every thread has slept since, and the coroutine had set the timer itself, or others like\n"
		"         it wait for timers that were not set either\n"
		"SUSPECT  not every thread has slept yet, or the coroutine may wait for other code to set the timer:\n"
		"         nobody has set it yet; or the coroutine has read an expiry of it before, and then disarmed\n"
		"         it; or others set it, and nothing else can happen, or most timers that were made in the\n"
		"         same place are periodic and armed. Or the coroutine armed a timer that several set, and\n"
		"         suspended without a known wait; another disarmed it before it expired, as where one of\n"
		"         several deadlines is taken out of a list\n"
		"\n"
		"Repair: treat a delay of zero as \"go on\" without a timer, or as 1 ns.\n"
		"\n"
		"Not reported: a coroutine that also waits for something else; a manager that waits while there are\n"
		"no timers, on a timerfd that only others set, while the program can go on; a timer that has expired\n"
		"and was not read yet.\n",
};

// SPDX-License-Identifier: MIT
//
// Sleepers that share one timerfd: each arms it for the next deadline, and waits in a list of the program's
// own. Whoever takes out a deadline and disarms the timer, though others are in the list, takes their timer,
// too. Nothing shows the list. What shows is that C armed the timer F in its last slice, that it suspended
// without any other known wait, that another coroutine set F since, before it expired, and that the kernel
// has no expiry of it now. Who armed F for another, or whose deadline was lifted while it waits for something
// else, looks the same: SUSPECT.
#include "analyze/pass/timer_taken.h"

#include <inttypes.h>

#include "base/text.h"
#include "ctp/wait_inference.h"

#define LEAST_NS 1000000000ULL

// The timer that C armed, if another has disarmed it since; else NULL.
static const struct ctp_fd *taken(const struct world *w, const struct image *m, const struct ctp_state *s,
				  int *fd)
{
	*fd = ctp_timer_armed(s);
	const struct ctp_fd *f = *fd < 0 ? NULL : image_fd(m, *fd);
	const struct descriptor *d = f ? descriptors_find(&m->descriptors, *fd, f->gen) : NULL;
	uint64_t by = f ? f->last_out & ~(CTP_FD_SEVERAL | CTP_FD_UNNAMED) : 0;
	bool is = d && d->disarmed && f->life == CTP_FD_OPEN && f->kind == CTP_FD_TIMERFD &&
		  f->opened < s->since && f->event_time < s->since && by && by != s->id &&
		  d->ns > world_ns(w, s->since) + LEAST_NS;
	return is ? f : NULL;
}

static bool may_be(const struct image *m, const struct ctp_state *s, size_t row)
{
	return ctp_timer_armed(s) >= 0 && s->entity == CTP_COROUTINE && image_suspended(m, s) &&
	       (m->row_flags[row] & IMAGE_ROW_PARKED) && !ctp_in_pool(s) && !image_ran_since(m, s);
}

// Has a loop begun a wait since?
static bool had_chance(const struct image *m, const struct ctp_state *s)
{
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->life == CTP_THREAD_LIVE && t->switches && t->wait_since > s->since)
			return true;
	}
	return false;
}

static int report(const struct pass *pass, const struct world *w, const struct image *m,
		  const struct ctp_state *s, int fd, const struct ctp_fd *f, struct results *out)
{
	struct verdict_case c;
	char span[32];
	bool unnamed = f->last_out & CTP_FD_UNNAMED;
	case_of_wait(&c, pass, &(struct suspect){.world = w, .image = m, .state = s, .fd = fd, .gen = f->gen},
		     out);
	text_duration(span, sizeof(span), case_suspended_ns(&c));
	c.doing = results_text(out, "%s for nothing that is known; it had armed timerfd %d#%u", span, fd,
			       f->gen);
	c.actor = (struct case_party){.did = "disarmed by",
				      .call = "timerfd_settime",
				      .stack = f->set_stack,
				      .id = unnamed ? 0 : f->last_out & CTP_ID_MASK};
	c.proof = (struct obligations){.verdict = VERDICT_SUSPECT, .by_hand = w->counts.hand > 0};
	c.proof.items[PROOF_P0] = case_completeness(case_complete(w, m));
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P2] = (struct obligation){
		HOLDS_OPEN,
		"it armed the timer and suspended, with no other known wait: that it waits for the "
		"expiry is not sure"};
	c.proof.items[PROOF_P3] = (struct obligation){
		HOLDS_TRUE,
		results_text(
			out,
			"timerfd %d#%u has no expiry set and none to be read; it was disarmed before it expired",
			fd, f->gen)};
	c.proof.items[PROOF_P5] = (struct obligation){HOLDS_TRUE, "had its chance: a loop has slept since"};
	c.claim = "may wait for a timer that another has disarmed";
	c.refuted = results_text(out,
				 "coroutine %" PRIu64
				 " armed the timer for another, waits for something else by "
				 "now, or its deadline was lifted on purpose",
				 s->id);
	c.fix = "set the timer to the next deadline of the list wherever one is taken out; disarm it only where the "
		"list is empty";
	return results_add(out, &c);
}

int timer_taken(const struct pass *pass, const struct world *w, const struct image *m, struct results *out)
{
	int r = 0, fd;
	if (!m->has_tables || m->replaced || !w->has_last_tables)
		return 0;
	for (size_t i = 0; !r && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		const struct ctp_fd *f = may_be(m, s, i) ? taken(w, m, s, &fd) : NULL;
		if (f && had_chance(m, s))
			r = report(pass, w, m, s, fd, f, out);
	}
	return r;
}

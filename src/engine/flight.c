// SPDX-License-Identifier: MIT
//
// P4 and P5: is an event of the closed descriptor still in somebody's hands,
// and did everyone who runs coroutines have the chance to act? A thread
// passes P4 if it entered a wait after the close (`seen` reached the close's
// epoch), or sleeps in one that it never left: seq odd, the kernel says
// asleep inside that epoll wait, not traced, and seq the same afterwards.
// Partner: the guest's hooks of epoll waits and of close (spec/cTP.md).
#include <sys/syscall.h>

#include "ctp/seq.h"
#include "engine/look.h"

// C was woken and has not run yet: an event of F came after it suspended.
static bool delivered(const struct ctp_region *r, const struct suspect *s)
{
	struct ctp_fd f;
	if (s->c.was.event_time > s->s.since)
		return true;
	return s->c.fd >= 0 && look_fd(r, (uint64_t)s->c.fd, &f) && f.gen == s->c.gen && f.event_time > s->s.since;
}

static bool asleep_in_it(const struct look *l, const struct proc_task *t)
{
	if (!t->hooked || t->slot < 0)
		return false;
	const struct ctp_thread *c = &l->threads[t->slot];
	return c->wait_call == CTP_IN_EPOLL && look_in_epoll(t) &&
	       ctp_load64(&l->r->threads[t->slot].wait_seq) == c->wait_seq;
}

static const struct proc_task *task_of(const struct look *l, uint32_t slot)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (l->tasks.v[i].slot == (int)slot)
			return &l->tasks.v[i];
	return NULL;
}

static void judge_p4(struct look *l, struct suspect *s)
{
	struct look_answer *a = &s->a[LOOK_P4];
	unsigned after = 0, inside = 0;
	// Whoever took the event may still pass it on, until all have slept again.
	if (delivered(l->r, s) && s->a[LOOK_P5].holds != 1) {
		look_say(a, 0, "an event of fd %d#%u came after it suspended, and not everyone has slept since: woken, not lost",
			 s->c.fd, s->c.gen);
		return;
	}
	for (uint32_t i = 0; i < l->nthreads; i++) {
		const struct ctp_thread *c = &l->threads[i];
		if (c->life != CTP_THREAD_LIVE || !c->polls)
			continue;
		const struct proc_task *t = task_of(l, i);
		if (c->seen >= s->c.epoch) {
			after++;
		} else if (t && asleep_in_it(l, t)) {
			inside++;
		} else { // dead it may be: killed with the event in its hands
			look_say(a, -1, "thread %u has not entered a wait since the close: it may hold an event", c->tid);
			return;
		}
	}
	if (look_has_kin(l->r) && rows_shared(l->pid, l->deadline_ns))
		look_say(a, -1, "the program has forked, and another process may share its epoll set");
	else if (after + inside == 0)
		look_say(a, 1, "no thread ever waited in epoll");
	else
		look_say(a, 1, "%u of %u polling threads waited anew after the close, %u never left",
			 after, after + inside, inside);
}

// Asleep in a wait that gives the others a chance: an epoll wait with a timeout other than 0, or a futex.
static bool sleeps(const struct look *l, const struct proc_task *t)
{
	if (t->state != 'S')
		return false;
	if (t->nr == SYS_futex)
		return true;
	if (!look_in_epoll(t))
		return false;
	if (t->slot >= 0 && (l->threads[t->slot].wait_seq & 1))
		return l->threads[t->slot].wait_timeout_ns != 0;
	return t->nr != SYS_epoll_pwait2 && (int)t->args[3] != 0;
}

static void judge_p5(struct look *l, struct suspect *s)
{
	struct look_answer *a = &s->a[LOOK_P5];
	unsigned n = 0;
	for (uint32_t i = 0; i < l->nthreads; i++) {
		const struct ctp_thread *c = &l->threads[i];
		if (c->life != CTP_THREAD_LIVE || !c->switches)
			continue;
		const struct proc_task *t = task_of(l, i);
		bool exits = c->wait_call == CTP_IN_EXIT;
		n++;
		if (c->slept_epoch >= s->c.epoch || (t && !exits && sleeps(l, t)))
			continue;
		bool awake = t && t->state != 'S' && !proc_task_dead(t);
		look_say(a, awake ? 0 : -1, "thread %u, which runs coroutines, has not slept in its wait since the close",
			 c->tid);
		return;
	}
	uint64_t turns = l->turns > s->turns0 ? l->turns - s->turns0 : 0;
	if (turns)
		look_say(a, 1, "the loop went to sleep %llu time%s since the close",
			 (unsigned long long)turns, turns == 1 ? "" : "s");
	else
		look_say(a, 1, "all %u threads that run coroutines sleep", n);
}

void flight_judge(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		judge_p5(l, l->who[i]);
		judge_p4(l, l->who[i]);
	}
}

void flight_tables(const struct ctp_region *r, struct suspect *s)
{
	struct look_answer *p4 = &s->a[LOOK_P4], *p5 = &s->a[LOOK_P5];
	uint32_t high = ctp_load32(&r->ext->thread_high);
	look_say(p4, 1, "every polling thread waited anew after the close");
	look_say(p5, 1, "every thread that runs coroutines slept after the close");
	if (look_has_kin(r))
		look_say(p4, -1, "the program has forked: another process may share the epoll set");
	for (uint32_t i = 0; i < high && i < r->threads_max; i++) {
		const struct ctp_thread *t = &r->threads[i];
		if (ctp_load32(&t->life) != CTP_THREAD_LIVE)
			continue;
		if (t->polls && ctp_load64(&t->seen) < s->c.epoch)
			look_say(p4, -1, "thread %u had not entered a wait since the close when the program ended", t->tid);
		if (t->switches && ctp_load64(&t->slept_epoch) < s->c.epoch)
			look_say(p5, -1, "thread %u had not slept since the close when the program ended", t->tid);
	}
	if (delivered(r, s) && p5->holds != 1)
		look_say(p4, -1, "an event of fd %d#%u came after it suspended, and it had not run since", s->c.fd, s->c.gen);
}

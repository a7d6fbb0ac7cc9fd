// SPDX-License-Identifier: MIT
//
// P4 and P5: may an event of the closed descriptor have been delivered and not handled yet, and has
// each thread that runs coroutines had the chance to act? A thread passes P4 if it entered a wait
// after the close (`seen` reached the close's epoch), or sleeps in one that it never left: seq is odd,
// the kernel shows it asleep inside that epoll wait and not traced, and seq is the same afterwards.
// Partner: the hooks of epoll waits and of close in libctp.so (spec/cTP.md).
#include "engine/witness/flight.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "ctp/seq.h"
#include "ctp/polled.h"
#include "engine/witness/closed_set.h"
#include "engine/suspects/complete_turns.h"

#define LET_SLEEP_NS 100000000u

// What P4 and P5 count from; the epoch was raised then.
static const char *event_of(const struct suspect *s)
{
	return s->cand == UINT32_MAX     ? "it was found" :
	       s->c.kind == CTP_CAND_DEL ? "the removal" :
					   "the close";
}

// C was woken and has not run yet: an event of F came after it suspended.
static bool delivered(const struct ctp_region *r, const struct suspect *s)
{
	struct ctp_fd f;
	int fd;
	if (s->rule == RULE_SET_CLOSED)
		return closed_set_wait(r, s, &fd, &f) && f.event_time > s->s.since;
	if (s->c.was.event_time > s->s.since)
		return true;
	return s->c.fd >= 0 && inspect_fd(r, (uint64_t)s->c.fd, &f) && f.gen == s->c.gen &&
	       f.event_time > s->s.since;
}

static bool asleep_in_it(const struct inspection *l, const struct proc_task *t)
{
	if (!t->hooked || t->slot < 0)
		return false;
	const struct ctp_thread *c = &l->threads[t->slot];
	return inspect_in_wait(t, c->wait_call) && ctp_wait_still(&l->r->threads[t->slot], c->wait_seq);
}

static const struct proc_task *task_of(const struct inspection *l, uint32_t slot)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (l->tasks.v[i].slot == (int)slot)
			return &l->tasks.v[i];
	return NULL;
}

// Can this thread have taken an event of F? Every epoll wait counts, and a poll
// or select if F ever stood in a set.
static bool could_take(const struct ctp_region *r, const struct ctp_thread *t, const struct suspect *s)
{
	struct ctp_fd f;
	bool now = s->c.fd >= 0 && inspect_fd(r, (uint64_t)s->c.fd, &f) && f.gen == s->c.gen;
	return t->polls ||
	       (t->sets && (s->c.was.polled || s->c.was.polled_out || (now && (f.polled || f.polled_out))));
}

static bool is_shared(struct inspection *l)
{
	if (l->shared == SHARED_NOT_ASKED) {
		l->sharer = inspect_has_kin(l->r) ?
				    registrations_sharer(l->pid, l->deadline_ns, &l->shared_set) :
				    0;
		l->shared = l->sharer ? SHARED : SHARED_NOT;
	}
	return l->shared == SHARED;
}

static void say_shared(const struct inspection *l, struct inspect_answer *a)
{
	char path[40], name[32] = "";
	FILE *f;
	snprintf(path, sizeof(path), "/proc/%d/comm", l->sharer);
	if (l->sharer > 0 && (f = fopen(path, "re"))) {
		if (fgets(name, sizeof(name), f))
			name[strcspn(name, "\n")] = 0;
		fclose(f);
	}
	if (*name)
		inspect_say(a, HOLDS_OPEN,
			    "process %d (%s) has epoll fd %d open, too, and may have taken an event of it",
			    l->sharer, name, l->shared_set);
	else
		inspect_say(a, HOLDS_OPEN,
			    "the program has forked, and another process may share its epoll set");
}

static void judge_p4(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P4];
	unsigned after = 0, inside = 0;
	s->passed = false;
	// Whoever took the event may still pass it on, until all have slept again.
	if (delivered(l->r, s) && s->a[PROOF_P5].holds != HOLDS_TRUE) {
		inspect_say(
			a, HOLDS_FALSE,
			"an event of fd %d#%u came after it suspended, and not every thread has slept since: woken, not lost",
			s->c.fd, s->c.gen);
		return;
	}
	for (uint32_t i = 0; i < l->nthreads; i++) {
		const struct ctp_thread *c = &l->threads[i];
		if (c->life != CTP_THREAD_LIVE || !could_take(l->r, c, s))
			continue;
		const struct proc_task *t = task_of(l, i);
		if (c->seen >= s->c.epoch) {
			after++;
		} else if (t && asleep_in_it(l, t)) {
			inside++;
		} else { // dead it may be: killed with the event in its hands
			inspect_say(a, HOLDS_OPEN,
				    "thread %u has not entered a wait since %s: it may hold an event", c->tid,
				    event_of(s));
			return;
		}
	}
	s->passed = is_shared(l);
	if (s->passed)
		say_shared(l, a);
	else if (after + inside == 0)
		inspect_say(a, HOLDS_TRUE, "no thread ever polled");
	else
		inspect_say(a, HOLDS_TRUE,
			    "%u of %u polling threads entered a new wait after %s, %u never left", after,
			    after + inside, event_of(s), inside);
}

// Asleep in a wait that gives the others a chance: a loop's, with a timeout other than 0, or a futex.
static bool sleeps(const struct inspection *l, const struct proc_task *t)
{
	if (t->state != 'S')
		return false;
	if (t->nr == SYS_futex)
		return true;
	if (t->slot >= 0 && inspect_in_wait(t, l->threads[t->slot].wait_call) &&
	    (l->threads[t->slot].wait_seq & 1))
		return ctp_loop_waits(&l->threads[t->slot]);
	if (!inspect_in_epoll(t))
		return false;
	return t->nr != SYS_epoll_pwait2 && (int)t->args[3] != 0;
}

// A loop that never sleeps.
static bool turned(const struct inspection *l, uint32_t slot, uint64_t epoch)
{
	return l->loops && complete_turns_made(l->loops, slot, l->threads[slot].uses, epoch);
}

static void judge_p5(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P5];
	unsigned n = 0, busy = 0;
	for (uint32_t i = 0; i < l->nthreads; i++) {
		const struct ctp_thread *c = &l->threads[i];
		if (c->life != CTP_THREAD_LIVE || !c->switches)
			continue;
		const struct proc_task *t = task_of(l, i);
		bool exits = c->wait_call == CTP_IN_EXIT;
		n++;
		if (c->slept_epoch >= s->c.epoch || (t && !exits && sleeps(l, t)))
			continue;
		if (turned(l, i, s->c.epoch)) {
			busy++;
			continue;
		}
		bool awake = t && t->state != 'S' && !proc_task_dead(t) && !proc_task_stopped(t);
		inspect_say(a, awake ? HOLDS_FALSE : HOLDS_OPEN,
			    "thread %u, which runs coroutines, has not slept in its wait since %s", c->tid,
			    event_of(s));
		return;
	}
	uint64_t turns = l->turns > s->turns0 ? l->turns - s->turns0 : 0;
	if (busy)
		inspect_say(
			a, HOLDS_TRUE,
			"%u of %u threads that run coroutines never slept, and made three complete turns since %s",
			busy, n, event_of(s));
	else if (turns)
		inspect_say(a, HOLDS_TRUE, "the loop went to sleep %llu time%s since %s",
			    (unsigned long long)turns, turns == 1 ? "" : "s", event_of(s));
	else
		inspect_say(a, HOLDS_TRUE,
			    n == 1 ? "the thread that runs coroutines sleeps" :
				     "all %u threads that run coroutines sleep",
			    n);
}

static bool owes_sleep(const struct inspection *l, uint32_t slot)
{
	const struct ctp_thread *c = &l->threads[slot];
	const struct proc_task *t = task_of(l, slot);
	if (c->life != CTP_THREAD_LIVE || !c->switches || !t || c->wait_call == CTP_IN_EXIT || sleeps(l, t) ||
	    proc_task_dead(t))
		return false;
	for (size_t i = 0; i < l->n; i++)
		if (c->slept_epoch < l->who[i]->c.epoch)
			return true;
	return false;
}

// A thread that was met awake: its state now. False if it has none.
static bool meet_again(struct inspection *l, uint32_t slot)
{
	struct proc_task now;
	inspect_thread(l, slot);
	if (!proc_task_read(l->pid, (int)l->threads[slot].tid, true, &now))
		return false;
	for (size_t k = 0; k < l->tasks.n; k++)
		if (l->tasks.v[k].tid == now.tid) {
			now.slot = (int)slot;
			l->tasks.v[k] = now;
			return true;
		}
	return false;
}

// A loop that a timer wakes now and then, or that waits for a CPU, sleeps in
// between: at the last look there is time to see it.
static void let_sleep(struct inspection *l)
{
	uint64_t until = proc_now_ns() + LET_SLEEP_NS;
	bool met = false;
	for (uint32_t i = 0; i < l->nthreads; i++)
		while (owes_sleep(l, i) && proc_now_ns() < until && !signals_late(l->deadline_ns)) {
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
			if (!meet_again(l, i))
				return;
			met = true;
		}
	if (met)
		inspect_mark_hooked(l);
}

void flight_judge(struct inspection *l)
{
	if (l->final)
		let_sleep(l);
	for (size_t i = 0; i < l->n; i++) {
		judge_p5(l, l->who[i]);
		judge_p4(l, l->who[i]);
	}
}

void flight_tables(const struct ctp_region *r, struct suspect *s)
{
	struct inspect_answer *p4 = &s->a[PROOF_P4], *p5 = &s->a[PROOF_P5];
	uint32_t high = ctp_load32(&r->ext->thread_high);
	inspect_say(p4, HOLDS_TRUE, "every polling thread entered a new wait after %s", event_of(s));
	inspect_say(p5, HOLDS_TRUE, "every thread that runs coroutines slept after %s", event_of(s));
	if (inspect_has_kin(r))
		inspect_say(p4, HOLDS_OPEN,
			    "the program has forked: another process may share the epoll set");
	for (uint32_t i = 0; i < high && i < r->threads_max; i++) {
		const struct ctp_thread *t = &r->threads[i];
		if (ctp_load32(&t->life) != CTP_THREAD_LIVE)
			continue;
		if (could_take(r, t, s) && ctp_load64(&t->seen) < s->c.epoch)
			inspect_say(p4, HOLDS_OPEN,
				    "thread %u had not entered a wait since %s when the program ended",
				    t->tid, event_of(s));
		if (t->switches && ctp_load64(&t->slept_epoch) < s->c.epoch)
			inspect_say(p5, HOLDS_OPEN, "thread %u had not slept since %s when the program ended",
				    t->tid, event_of(s));
	}
	if (delivered(r, s) && p5->holds != HOLDS_TRUE)
		inspect_say(p4, HOLDS_OPEN,
			    "an event of fd %d#%u came after it suspended, and it had not run since", s->c.fd,
			    s->c.gen);
}

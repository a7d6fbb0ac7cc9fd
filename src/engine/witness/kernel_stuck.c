// SPDX-License-Identifier: MIT
//
// P3 of coroutines whose descriptor is open: does the kernel confirm the rule's condition? (P2 is asked on
// the way: one_wait_stuck.c.) Registrations of F are those of its description, under any number. Readiness is
// asked of a copy of the descriptor by poll, not by queue lengths (SO_RCVLOWAT), and counts only while a
// thread sleeps in the set: an edge that had not been delivered would have woken that thread.
#include "engine/witness/kernel_stuck.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "ctp/polled.h"
#include "ctp/seq.h"
#include "ctp/wait_inference.h"
#include "engine/suspects/complete_turns.h"
#include "engine/witness/kernel.h"
#include "engine/witness/next_look.h"
#include "engine/stored/queued.h"
#include "engine/witness/one_wait_stuck.h"
#include "engine/witness/quiescent.h"
#include "engine/suspects/signal_wait.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/suspects/unheard.h"
#include "engine/witness/unheard_judge.h"

enum { MANY_TURNS = 1000, SOME_TURNS = 20, FEW_TURNS = 3, SLEEPS = 3 };
#define LONG_NS 10000000000ULL
#define WHILE_NS 1000000000ULL

// What the rows of one description say.
struct registrations_of {
	unsigned needed;          // with an event of those that it needs
	unsigned n, armed, edges; // armed: in a direction that it waits for, or leading to it
	bool slept;               // a thread sleeps in a set that has one
	int epfd, tfd;            // of the one that says most
	uint32_t events;
};

static bool polled(const struct inspection *l, int epfd)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (inspect_in_epoll(&l->tasks.v[i]) && (int)l->tasks.v[i].args[0] == epfd)
			return true;
	return false;
}

static struct registrations_of registrations_of(const struct inspection *l, const struct suspect *s)
{
	struct registrations_of o = {.epfd = -1, .tfd = -1};
	uint32_t directions = stuck_wait_directions(s);
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (!one_wait_stuck_row(l, s, reg))
			continue;
		bool armed = (reg->events & directions) ||
			     ((reg->events & CTP_REG_EVENTS) &&
			      (reg->data == one_wait_stuck_data(s) || inspect_references(s, reg->data)));
		if ((armed && !polled(l, o.epfd)) || !o.n) { // one that is polled says most
			o.epfd = reg->epfd;
			o.tfd = reg->tfd;
			o.events = reg->events;
		}
		o.n++;
		o.needed += (reg->events & stuck_wait_needed(s)) != 0;
		o.armed += armed;
		o.edges += armed && (reg->events & EPOLLET);
		o.slept |= polled(l, reg->epfd);
	}
	return o;
}

// ------------------------------------------------------------- the loop's own timers

// It was told of its event, or another was, and may yet be resumed. After a while it is worth a look all the
// same: soon where the loop turns fast, and after a few turns where it ticks each second; not where nothing
// told it to wait: it may well be paced by that timer.
static bool put_off(const struct inspection *l, struct suspect *s, const struct own_timer *timer,
		    struct inspect_answer *a)
{
	uint64_t now = proc_now_ns();
	bool turned = l->turns > s->turns0 + FEW_TURNS || timer->far, untold = s->may_be_left && s->wait < 0;
	if (!timer->what || (l->turns > s->turns0 + MANY_TURNS && now > s->found_ns + LONG_NS))
		return false;
	s->put_off = (!untold || timer->far) &&
		     ((l->turns > s->turns0 + SOME_TURNS && now > s->found_ns + WHILE_NS) ||
		      (turned && now > s->found_ns + NEXT_LOOK_SLOW_NS));
	if (s->put_off)
		return false;
	inspect_say(a, HOLDS_OPEN, "%s: the program has %s",
		    s->unregistered || s->masked || s->wrong_mask || s->wrote || stuck_wait_full(s) ?
			    "it may be registered again later" :
			    "its event came, and its resume may be delayed",
		    timer->what);
	return true;
}

// ------------------------------------------------------------------------ P3

// Every sleep of the program has come to its end several times since there was something to be read.
static bool slept_through(const struct inspection *l, const struct suspect *s)
{
	return s->left_ns && l->turns > s->turns0 + FEW_TURNS &&
	       (proc_now_ns() - s->left_ns) / SLEEPS >= s->timer_ns;
}

// What was left unread may be wanted later: when a timer comes, or when a sink has room. A deadline that is
// far may lie behind sleeps that are short: then where it stands has to speak for F, too.
static bool wanted_later(const struct inspection *l, struct suspect *s, const struct own_timer *timer)
{
	struct inspect_answer unsaid;
	bool was = s->put_off, later = put_off(l, s, timer, &unsaid);
	s->put_off = was;
	if (timer->what)
		s->timer_ns = timer->longest_ns ? timer->longest_ns : UINT64_MAX;
	else if (s->timer_ns && !proc_tasks_asleep(&l->tasks))
		later = true; // who is awake now slept with a timeout before
	s->left_timed = later && slept_through(l, s);
	return (later && !s->left_timed) || unheard_full_one(l) >= 0;
}

// F is registered for nothing. Where only what is unread speaks for F, and every sleep has come to its end
// since, no timer that is known registers it again.
static bool registered_later(const struct inspection *l, struct suspect *s, const struct own_timer *timer)
{
	bool is = s->unregistered || s->masked;
	if (is && s->left && s->wait < 0) {
		s->left = !wanted_later(l, s, timer);
		if (s->left)
			return false;
	}
	return (is || s->wrong_mask || stuck_wait_full(s) || s->wrote) &&
	       put_off(l, s, timer, &s->a[PROOF_P3]);
}

static void one_shot(struct inspection *l, struct suspect *s, const struct registrations_of *o,
		     const struct own_timer *timer)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	if (o->armed)
		inspect_say(a, HOLDS_FALSE, "fd %d in epoll fd %d is armed", o->tfd, o->epfd);
	else if (!o->n)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u is registered nowhere", s->c.fd, s->c.gen);
	else if (o->events & CTP_REG_EVENTS)
		inspect_say(a, HOLDS_FALSE, "fd %d in epoll fd %d is armed for the other direction", o->tfd,
			    o->epfd);
	else if (s->may_be_left && s->wait < 0 && !s->left_ns)
		inspect_say(a, HOLDS_FALSE, "nothing of fd %d#%u was left to be read", s->c.fd, s->c.gen);
	else if (s->c.was.event_time < s->s.since || !put_off(l, s, timer, a)) {
		bool later = s->may_be_left && wanted_later(l, s, timer);
		s->left = s->left && !later;
		if (!kernel_threads_hold(l, s))
			inspect_say(
				a, HOLDS_TRUE,
				"the row of fd %d#%u in epoll fd %d is a one-shot that fired and is not armed again "
				"(fdinfo has its events as %x: disarmed)%s",
				s->c.fd, s->c.gen, o->epfd, o->events,
				s->ready == 1 ? ", though it is ready" : "");
	}
}

// An edge that was told to somebody else, or to nobody, before C came to wait.
static void edge(const struct inspection *l, struct suspect *s, const struct registrations_of *o)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	bool in = stuck_wait_directions(s) & EPOLLIN, out = stuck_wait_directions(s) & EPOLLOUT;
	const char *way = in && out ? "readable and writable" : out ? "writable" : "readable";
	int64_t bytes = s->queued ? s->queued : in ? stuck_wait_unread(l->pid, s->c.fd) : 0;
	char unread[48] = "";
	if (bytes > 0)
		snprintf(unread, sizeof(unread), " (%lld byte%s unread)", (long long)bytes,
			 bytes == 1 ? "" : "s");
	if (!o->armed || o->edges < o->armed)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u has no registration, or one that is not edge-triggered",
			    s->c.fd, s->c.gen);
	else if (s->c.was.event_time >= s->s.since)
		inspect_say(a, HOLDS_FALSE, "an event of fd %d#%u came after it suspended", s->c.fd,
			    s->c.gen);
	else if (s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_EAGAIN))
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is %s%s, and registered edge-triggered in epoll fd %d: the edge came after its "
			"last try and before it suspended",
			s->c.fd, s->c.gen, way, unread, o->epfd);
	else if (s->sent)
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is writable, and registered edge-triggered in epoll fd %d: its last write took all "
			"that it was given, so no edge is due, and no event came since",
			s->c.fd, s->c.gen, o->epfd);
	else if (stuck_wait_full(s))
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is readable, and registered edge-triggered in epoll fd %d: its last accept found "
			"no descriptor free (EMFILE), and no event came since; one is free now",
			s->c.fd, s->c.gen, o->epfd);
	else
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is %s%s, and registered edge-triggered in epoll fd %d: its last read or write "
			"did not go on until EAGAIN, and no event came since",
			s->c.fd, s->c.gen, way, unread, o->epfd);
}

static void delivered(struct inspection *l, struct suspect *s, const struct registrations_of *o,
		      const struct own_timer *timer)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	if (o->n && !o->armed)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u has no registration that is armed", s->c.fd, s->c.gen);
	else if (s->c.was.event_time < s->s.since)
		inspect_say(a, HOLDS_FALSE, "no event of fd %d#%u came after it suspended", s->c.fd,
			    s->c.gen);
	else if (put_off(l, s, timer, a))
		return;
	else if (!o->n)
		inspect_say(
			a, HOLDS_TRUE,
			"an event of fd %d#%u came after it suspended, and then its registration was removed; the "
			"descriptor is still ready",
			s->c.fd, s->c.gen);
	else
		inspect_say(
			a, HOLDS_TRUE,
			"an event of fd %d#%u was returned by epoll fd %d after it suspended, and the descriptor is "
			"still ready",
			s->c.fd, s->c.gen, o->epfd);
}

static void wrong_waiter(struct inspection *l, struct suspect *s, const struct registrations_of *o,
			 const struct own_timer *timer)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	const struct ctp_fd *f = &s->c.was;
	if (!o->n)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u is registered nowhere", s->c.fd, s->c.gen);
	else if (!(f->leads & CTP_ID_MASK) || (f->leads & CTP_ID_MASK) == s->s.id)
		inspect_say(a, HOLDS_FALSE, "the registration of fd %d#%u leads to no other", s->c.fd,
			    s->c.gen);
	else if (!put_off(l, s, timer, a))
		inspect_say(
			a, HOLDS_TRUE,
			"the registration of fd %d#%u leads to coroutine %llu, which ran after this one had suspended; the "
			"descriptor is ready still",
			s->c.fd, s->c.gen, (unsigned long long)(f->leads & CTP_ID_MASK));
}

static void timer(struct inspection *l, struct suspect *s, const struct registrations_of *o)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	const struct ctp_fd *f = &s->c.was;
	int off = stuck_wait_disarmed(l->pid, s->c.fd);
	if (off <= 0)
		inspect_say(a, off ? HOLDS_OPEN : HOLDS_FALSE,
			    off ? "it cannot be seen whether timerfd %d#%u is armed" :
				  "timerfd %d#%u is armed, or has expired",
			    s->c.fd, s->c.gen);
	else if (!o->n)
		inspect_say(a, HOLDS_FALSE, "timerfd %d#%u is registered nowhere", s->c.fd, s->c.gen);
	else if ((s->ticking = ctp_timer_of_others(f, s->s.id) ? stuck_wait_ticking(l->r, s, l->pid) : 0))
		inspect_say(
			a, HOLDS_TRUE,
			"timerfd %d#%u, which others have set, has no expiry set and none to be read; %u others that "
			"were made in the same place expire periodically",
			s->c.fd, s->c.gen, s->ticking);
	else
		inspect_say(a, HOLDS_TRUE, "timerfd %d#%u, which %s, has no expiry set and none to be read",
			    s->c.fd, s->c.gen,
			    f->opener == s->s.id         ? "it made itself" :
			    ctp_timer_set_by(f, s->s.id) ? "it has set itself" :
			    ctp_timer_never_set(f)       ? "nobody has set since it was made" :
							   "others have set");
}

static bool queries_ready(const struct suspect *s)
{
	return s->rule == RULE_MISSED_EDGE || s->rule == RULE_ONESHOT || s->rule == RULE_DELIVERED ||
	       s->rule == RULE_WRONG_WAITER || s->unregistered || s->masked || s->wrote || s->wrong_mask;
}

// A thread that is awake, and has not made three complete turns since; 0: none.
static uint32_t may_come_to_it(const struct inspection *l, const struct suspect *s)
{
	for (uint32_t i = 0; i < l->nthreads; i++) {
		const struct ctp_thread *t = &l->threads[i];
		if (t->life == CTP_THREAD_LIVE && (t->polls || t->sets) && !ctp_loop_waits(t) &&
		    !(l->loops && complete_turns_made(l->loops, i, t->uses, s->c.epoch)))
			return t->tid;
	}
	return 0;
}

// No thread sleeps: a loop that turns without a sleep has had its chance after three complete turns.
static bool passed_by(const struct inspection *l, struct suspect *s, struct queued *q)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	uint32_t tid = may_come_to_it(l, s);
	s->queued = queued_bytes(q, l->pid, s->c.fd);
	if (!s->queued)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u has nothing to be read", s->c.fd, s->c.gen);
	else if (s->queued < 0)
		inspect_say(a, HOLDS_OPEN, "it cannot be told whether fd %d#%u is ready", s->c.fd, s->c.gen);
	else if (tid)
		inspect_say(a, HOLDS_OPEN, "thread %u is awake, and may come to fd %d#%u yet", tid, s->c.fd,
			    s->c.gen);
	s->ready = s->queued > 0 && !tid ? 1 : -1;
	return s->ready == 1;
}

// What rests on "ready" needs a thread that sleeps in the set, and another look at F now.
static bool ready(struct inspection *l, struct suspect *s, const struct registrations_of *o, struct queued *q)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	if (!queries_ready(s))
		return true;
	bool asleep = proc_tasks_asleep(&l->tasks);
	if (!asleep && (s->queued || s->may_be_left) && (passed_by(l, s, q) || s->rule != RULE_ONESHOT))
		return s->ready == 1;
	s->queued = 0;
	s->ready = asleep ? stuck_wait_ready(l->pid, s->c.fd, stuck_wait_directions(s)) : -1;
	if (s->rule == RULE_ONESHOT)
		return true;
	if (s->ready < 0)
		inspect_say(a, HOLDS_OPEN, "it cannot be told whether fd %d#%u is ready", s->c.fd, s->c.gen);
	else if (!s->ready)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u is not ready for what it waits for", s->c.fd, s->c.gen);
	else if (o->n && !o->slept)
		inspect_say(a, HOLDS_OPEN, "no thread sleeps in epoll fd %d: an event may be on its way",
			    o->epfd);
	return s->ready == 1 && (o->slept || !o->n);
}

// What was taken as a wait for connections is one only if there are some, and could be taken. False: said.
static bool could_accept(const struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	int can = stuck_wait_full(s) ? stuck_wait_can_open(l->pid) : 1;
	if (can == 0)
		inspect_say(
			a, HOLDS_OPEN,
			"no descriptor was free for a connection of fd %d#%u, and none is: the process has "
			"as many as it may",
			s->c.fd, s->c.gen);
	else if (can < 0 || (stuck_wait_full(s) && s->ready < 0))
		inspect_say(a, HOLDS_OPEN, "it cannot be told whether a connection could be accepted now");
	else if (stuck_wait_full(s) && !s->ready)
		inspect_say(a, HOLDS_FALSE, "no connection waits at fd %d#%u", s->c.fd, s->c.gen);
	else
		return true;
	return false;
}

// Does what is there to be read speak for F alone? Counted at every look.
static void note_left(const struct inspection *l, struct suspect *s)
{
	int64_t bytes = s->queued       ? s->queued :
			!s->may_be_left ? 0 :
			s->ready == 1   ? unheard_unread(s, l->pid) :
					  s->ready;
	unheard_note_left(s, bytes, proc_now_ns());
}

static void judge_p3(struct inspection *l, struct suspect *s, const struct own_timer *set, struct queued *q)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	struct ctp_fd f;
	if (s->rule == RULE_PARKED) {
		inspect_say(a, HOLDS_TRUE, "no registration, no read or write that had to wait, no timer");
		return;
	}
	if (!l->registrations.complete) {
		inspect_say(a, HOLDS_OPEN, "not all registrations could be read");
		return;
	}
	if (!inspect_fd(l->r, (uint64_t)s->c.fd, &f) || f.gen != s->c.gen || f.life != CTP_FD_OPEN) {
		inspect_say(a, HOLDS_FALSE, "fd %d#%u has ended", s->c.fd, s->c.gen);
		return;
	}
	s->c.was = f;
	struct registrations_of o = registrations_of(l, s);
	s->may_be_left =
		(s->rule == RULE_ONESHOT || s->rule == RULE_DELIVERED || s->unregistered || s->masked) &&
		unheard_may_be_left(s, stuck_wait_firm(s, l->pid));
	bool is_ready = ready(l, s, &o, q);
	note_left(l, s);
	if (!is_ready || !could_accept(l, s) || (!(s->wrote && o.n) && registered_later(l, s, set)))
		return;
	if (s->rule == RULE_ONESHOT)
		one_shot(l, s, &o, set);
	else if (s->rule == RULE_MISSED_EDGE)
		edge(l, s, &o);
	else if (s->rule == RULE_DELIVERED)
		delivered(l, s, &o, set);
	else if (s->rule == RULE_WRONG_WAITER)
		wrong_waiter(l, s, &o, set);
	else if (s->rule == RULE_ABANDONED || s->rule == RULE_REMOVED)
		unheard_judge(l, s, &(struct unheard_rows){o.n, o.needed, o.epfd, o.events});
	else if (s->rule == RULE_SIGNAL)
		signal_wait_judge(l, s, o.needed > 0);
	else
		timer(l, s, &o);
}

// What was asked one after the other is true at once only if nobody ran meanwhile.
static void settle_ready(struct inspection *l)
{
	struct proc_tasks now = {0};
	bool still = !proc_tasks_read(l->pid, false, &now) && proc_tasks_still(&l->tasks, &now);
	proc_tasks_deinit(&now);
	for (size_t i = 0; !still && i < l->n; i++) {
		struct suspect *s = l->who[i];
		if (s->rule != RULE_ONESHOT && queries_ready(s) && !s->queued &&
		    s->a[PROOF_P3].holds == HOLDS_TRUE)
			inspect_say(&s->a[PROOF_P3], HOLDS_OPEN, "a thread ran while fd %d#%u was looked at",
				    s->c.fd, s->c.gen);
	}
}

void kernel_stuck(struct inspection *l)
{
	bool any = false;
	for (size_t i = 0; i < l->n; i++)
		any |= stuck_wait_is(l->who[i]);
	if (!any)
		return;
	const struct own_timer set = quiescent_own_timer(l);
	struct queued q = {0};
	for (size_t i = 0; i < l->n; i++) {
		struct suspect *s = l->who[i];
		if (!stuck_wait_is(s))
			continue;
		s->swept = set.what != NULL;
		if (s->rule != RULE_PARKED && inspect_late(l)) {
			inspect_say(&s->a[PROOF_P2], HOLDS_OPEN,
				    "there was no time to look at every coroutine");
			inspect_say(&s->a[PROOF_P3], HOLDS_OPEN,
				    "there was no time to look at every coroutine");
			continue;
		}
		judge_p3(l, s, &set, &q);
		one_wait_stuck_judge(l, s);
	}
	queued_deinit(&q);
	settle_ready(l);
	one_wait_stuck_others(l);
}

// SPDX-License-Identifier: MIT
//
// Where a loop polls several sets in turn, each of them is not polled now and then: so events must wait in
// the set, and each thread that polls must sleep without a timeout, or have made three complete turns since.
#include "engine/witness/unheard_judge.h"

#include <stdio.h>
#include <sys/epoll.h>

#include "ctp/polled.h"
#include "ctp/words.h"
#include "engine/suspects/complete_turns.h"
#include "engine/suspects/poller.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/suspects/unheard.h"
#include "engine/witness/kernel.h"
#include "engine/witness/next_look.h"

#define LONG_SLEEP_NS 1000000000ULL
enum { FULL_ASKED = 256 }; // writers that are asked whether they are
#define OUT_EVENTS ((uint32_t)(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))

static bool is_full(const struct inspection *l, int fd, uint32_t events, unsigned *asked)
{
	return (events & OUT_EVENTS) && *asked < FULL_ASKED && ++*asked &&
	       stuck_wait_ready(l->pid, fd, EPOLLOUT) == 0 && stuck_wait_takes(l->pid, fd) != 0;
}

int unheard_full_one(const struct inspection *l)
{
	unsigned asked = 0;
	for (size_t i = 0; i < l->registrations.n; i++)
		if (is_full(l, l->registrations.v[i].tfd, l->registrations.v[i].events, &asked))
			return l->registrations.v[i].tfd;
	for (size_t i = 0; l->polled && i < l->tasks.n; i++)
		for (size_t k = 0; k < l->polled[i].n; k++)
			if (is_full(l, l->polled[i].v[k].fd, l->polled[i].v[k].events, &asked))
				return l->polled[i].v[k].fd;
	return -1;
}

// A sink that is full may be why F is left out. True: said.
static bool is_full_until(const struct inspection *l, struct suspect *s)
{
	int full = unheard_full_one(l);
	if (full >= 0)
		inspect_say(
			&s->a[PROOF_P3], HOLDS_OPEN,
			"fd %d is full, and a loop waits for it to take more: fd %d#%u may be left out until then",
			full, s->c.fd, s->c.gen);
	return full >= 0;
}

// Its registration went with an event that it had, and none was made since.
static void unregistered(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	bool polled = s->c.was.polled || s->c.was.polled_out, refused = s->c.was.flags & CTP_FD_REFUSED;
	if (*l->hidden)
		inspect_say(a, HOLDS_OPEN, "%.180s: it may be registered there", l->hidden);
	else if (!stuck_wait_full(s) && is_full_until(l, s))
		return;
	else if (stuck_wait_full(s))
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is registered nowhere, and a connection waits there: its last accept found "
			"no descriptor free (EMFILE), and one is free now",
			s->c.fd, s->c.gen);
	else
		inspect_say(
			a, HOLDS_TRUE, "fd %d#%u is %s, and ready: %s", s->c.fd, s->c.gen,
			polled ? "in no set that a thread polls, and in no epoll set" : "registered nowhere",
			refused ?
				"an EPOLL_CTL_MOD of it failed with ENOENT, and no EPOLL_CTL_ADD followed" :
			polled ?
				"it was left out after the last event" :
			s->c.was.event_time ?
				"its registration went with the last event, and none was made since" :
				"its registration was removed before any event of it came, and none was made since");
}

// Left out, and so by whoever waits: what is read would have room, as far as that can be told.
static void wrong_mask(struct inspection *l, struct suspect *s, const struct unheard_rows *rows)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	char names[96] = "no events", where[48] = "in the set that a thread polls, with";
	uint32_t events = rows->events;
	for (size_t i = 0; !rows->n && l->polled && i < l->tasks.n; i++)
		for (size_t k = 0; k < l->polled[i].n; k++)
			events |= l->polled[i].v[k].fd == s->c.fd ? l->polled[i].v[k].events : 0;
	if (rows->n)
		snprintf(where, sizeof(where), "registered in epoll fd %d for", rows->epfd);
	if (events & (EPOLLRDHUP | EPOLLPRI | OUT_EVENTS))
		words_events(events & (EPOLLRDHUP | EPOLLPRI | OUT_EVENTS), names, sizeof(names));
	if (!is_full_until(l, s))
		inspect_say(a, HOLDS_TRUE,
			    "fd %d#%u is readable, and its last read had to wait; it is %s %s, not EPOLLIN",
			    s->c.fd, s->c.gen, where, names);
}

static void wrote(struct suspect *s, const struct unheard_rows *rows)
{
	char where[64] = "in the set that a thread polls it has";
	if (rows->n)
		snprintf(where, sizeof(where), "its row in epoll fd %d has", rows->epfd);
	inspect_say(&s->a[PROOF_P3], HOLDS_TRUE,
		    "fd %d#%u is writable, and its last %s had to wait; %s %s, not EPOLLOUT", s->c.fd,
		    s->c.gen, unheard_connects(&s->c.was) ? "connect" : "write", where,
		    !rows->n || (rows->events & EPOLLIN) ? "EPOLLIN" : "other events");
}

static void without_event(struct inspection *l, struct suspect *s, const struct unheard_rows *rows)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	bool is_refused = s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REFUSED);
	if (rows->needed || (rows->n && !(rows->events & CTP_REG_EVENTS)) ||
	    (!rows->n && !is_refused && !s->unregistered && !s->wrong_mask && !s->wrote) ||
	    (rows->n && s->unregistered))
		inspect_say(a, HOLDS_FALSE, "fd %d#%u is registered for it, or was a one-shot", s->c.fd,
			    s->c.gen);
	else if (kernel_threads_hold(l, s))
		return;
	else if (s->unregistered)
		unregistered(l, s);
	else if (s->wrong_mask)
		wrong_mask(l, s, rows);
	else if (s->wrote)
		wrote(s, rows);
	else if (s->masked && is_full_until(l, s))
		return;
	else if (rows->n)
		kernel_say_masked(s, rows->epfd, rows->events);
	else
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is registered nowhere: its EPOLL_CTL_MOD failed with ENOENT, and it waited all the same",
			s->c.fd, s->c.gen);
}

// Who polls may poll this one next: a thread that is not asleep in a loop's wait, or wakes by a timeout and
// has not made three complete turns since. 0: nobody. *slow: such a timeout is so long, or such a thread has
// turned for so long, that the events have waited for long, and nobody has come to them.
static uint32_t may_poll(const struct inspection *l, const struct suspect *s, bool *slow)
{
	bool waited = proc_now_ns() > s->found_ns + NEXT_LOOK_SLOW_NS;
	*slow = false;
	for (uint32_t i = 0; i < l->nthreads; i++) {
		const struct ctp_thread *t = &l->threads[i];
		if (t->life != CTP_THREAD_LIVE || (!t->polls && !t->sets))
			continue;
		bool turned = l->loops && complete_turns_made(l->loops, i, t->uses, s->c.epoch);
		bool timed = t->wait_timeout_ns > 0 && !turned;
		bool slept = waited && t->wait_timeout_ns >= (int64_t)LONG_SLEEP_NS;
		bool turns = !ctp_loop_waits(t), passed = turns && waited && turned && s->ready == 1;
		if ((turns && !passed) || (timed && !slept))
			return t->tid;
		*slow |= timed || passed;
	}
	return 0;
}

static void abandoned(struct inspection *l, struct suspect *s, const struct unheard_rows *rows)
{
	int epfd = rows->needed ? rows->epfd : -1;
	struct inspect_answer *a = &s->a[PROOF_P3];
	struct ctp_fd e = {0};
	int tid = epfd < 0 ? 0 : poller(l, epfd);
	bool asleep = proc_tasks_asleep(&l->tasks);
	bool slow, told = s->c.was.event_time >= s->s.since;
	s->ready = !asleep || told ? -1 : stuck_wait_ready(l->pid, s->c.fd, stuck_wait_directions(s));
	uint32_t next = may_poll(l, s, &slow);
	if (epfd < 0)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u has no registration that is armed", s->c.fd, s->c.gen);
	else if (tid)
		inspect_say(a, HOLDS_FALSE, "thread %d sleeps in epoll fd %d, or in a set that has it", tid,
			    epfd);
	else if (!asleep || next)
		inspect_say(a, HOLDS_OPEN,
			    "%s may poll epoll fd %d next: it has polled, and does something else now",
			    asleep ? "a thread" : "a thread that is awake", epfd);
	else if (!unheard_abandoned(l->pid, epfd))
		inspect_say(a, HOLDS_FALSE, "no event waits in epoll fd %d", epfd);
	else {
		s->put_off = slow;
		inspect_say(
			a, HOLDS_TRUE,
			"events wait in epoll fd %d#%u, which has the row of fd %d#%u: no thread polls it, nor a set that "
			"has it",
			epfd, inspect_fd(l->r, (uint64_t)epfd, &e) ? e.gen : 0, s->c.fd, s->c.gen);
	}
}

void unheard_judge(struct inspection *l, struct suspect *s, const struct unheard_rows *rows)
{
	if (s->rule == RULE_ABANDONED)
		abandoned(l, s, rows);
	else
		without_event(l, s, rows);
}

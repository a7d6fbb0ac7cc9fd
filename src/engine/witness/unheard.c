// SPDX-License-Identifier: MIT
//
// Where a loop polls several sets in turn, each of them is not polled now and then: so events must wait in
// the set, and each thread that polls must sleep without a timeout, or have made three complete turns since.
#include "engine/witness/unheard.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/grow.h"
#include "ctp/polled.h"
#include "ctp/there.h"
#include "ctp/words.h"
#include "ctp/wait_inference.h"
#include "engine/witness/complete_turns.h"
#include "engine/witness/kernel.h"
#include "engine/witness/poller.h"
#include "engine/witness/stuck_wait.h"

#define DATA_EVENTS ((uint32_t)(EPOLLIN | EPOLLRDNORM))
#define SLOW_NS 2000000000ULL // for events to wait
#define LONG_SLEEP_NS 1000000000ULL
#define LEFT_NS 1000000000ULL
enum { FULL_ASKED = 256 }; // writers that are asked whether they are
#define OUT_EVENTS ((uint32_t)(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))

// ------------------------------------------------------------- hints of the tables

bool unheard_polled(const struct unheard_sets *u, int epfd)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->polled[i] == epfd)
			return true;
	return false;
}

static bool add(struct unheard_sets *u, int32_t epfd)
{
	if (epfd < 0 || unheard_polled(u, epfd))
		return false;
	if (GROW(u->polled, u->n, u->room)) {
		u->known = false;
		return false;
	}
	u->polled[u->n++] = epfd;
	return true;
}

// The thread's own: true unless it polls, and is about something else now.
static bool add_thread(struct unheard_sets *u, const struct ctp_thread *t)
{
	if (ctp_load32(&t->life) != CTP_THREAD_LIVE || (!t->polls && !t->sets))
		return true;
	if (!ctp_loop_waits(t))
		return false;
	if (t->wait_call == CTP_IN_EPOLL)
		add(u, t->wait_fd);
	return true;
}

// Sets that are registered in polled ones, or given to poll, and other numbers of polled ones. True: some
// more.
static bool add_nested(struct unheard_sets *u, const struct ctp_region *r)
{
	struct ctp_walk w = ctp_walk_fds(r);
	bool more = false;
	for (uint64_t fd = ctp_walk_from(&w, 0); fd < w.n; fd = ctp_walk_from(&w, fd + 1)) {
		struct ctp_fd f, of;
		if (r->fds[fd].kind != CTP_FD_EPOLL || !inspect_fd(r, fd, &f) || f.life != CTP_FD_OPEN)
			continue;
		bool is =
			f.polled || (f.flags & CTP_FD_MANYREGS) ||
			(f.reg_epfd >= 0 && (f.reg_events & CTP_REG_EVENTS) && unheard_polled(u, f.reg_epfd));
		for (size_t i = 0; !is && i < u->n; i++)
			is = inspect_fd(r, (uint64_t)u->polled[i], &of) && of.desc == f.desc;
		more |= is && add(u, (int32_t)fd);
	}
	return more;
}

void unheard_sets_find(struct unheard_sets *u, const struct ctp_region *r)
{
	uint32_t high = ctp_load32(&r->ext->thread_high);
	u->known = true;
	for (uint32_t i = 0; i < high && i < r->threads_max; i++)
		u->known &= add_thread(u, &r->threads[i]);
	for (int i = 0; i < POLLER_NESTED_MAX && add_nested(u, r); i++)
		;
}

uint32_t unheard_given(struct unheard_sets *u, pid_t pid, int fd)
{
	struct proc_tasks tasks = {0};
	uint32_t events = 0;
	if (!u->asked && !proc_tasks_read(pid, true, &tasks) &&
	    (u->given = calloc(tasks.n + 1, sizeof(*u->given))))
		for (; u->ngiven < tasks.n; u->ngiven++)
			polled_read(pid, &tasks.v[u->ngiven], NULL, &u->given[u->ngiven]);
	u->asked = true;
	proc_tasks_deinit(&tasks);
	for (size_t i = 0; i < u->ngiven; i++)
		for (size_t k = 0; k < u->given[i].n; k++)
			events |= u->given[i].v[k].fd == fd ? u->given[i].v[k].events : 0;
	return events;
}

void unheard_sets_deinit(struct unheard_sets *u)
{
	for (size_t i = 0; i < u->ngiven; i++)
		free(u->given[i].v);
	free(u->given);
	free(u->polled);
	*u = (struct unheard_sets){0};
}

bool unheard_hinted(const struct unheard_sets *u, const struct ctp_fd *f)
{
	if (f->reg_epfd < 0 && f->polled && f->waiter[0])
		return true;
	if (f->reg_epfd < 0)
		return (f->flags & (CTP_FD_REFUSED | CTP_FD_LISTENS)) || f->event_time;
	if (f->flags & CTP_FD_WROTE)
		return true;
	if ((f->waiter[0] && !(f->reg_events & DATA_EVENTS)) ||
	    (f->waiter[1] && !(f->reg_events & OUT_EVENTS)))
		return true;
	return u->known && u->n && !(f->flags & CTP_FD_MANYREGS) && !unheard_polled(u, f->reg_epfd);
}

// What is ready would have woken it, where it waits as it did before: with its event, if that came after it
// suspended, else with the registration that it lacks.
enum ctp_rule unheard_without_row(struct suspect *s, bool told, bool firm)
{
	uint32_t how = s->wait >= 0 ? s->s.waits[s->wait].how : 0;
	bool tried = how & (CTP_WAIT_EAGAIN | CTP_WAIT_FULL);
	if ((how & CTP_WAIT_EAGAIN) && (how & CTP_WAIT_REFUSED))
		return RULE_REMOVED;
	bool left = s->may_be_left && s->ready == 1;
	firm |= left;
	if (!firm || s->ready != 1)
		return RULE_NONE;
	if (told)
		return tried || left ? RULE_DELIVERED : RULE_NONE;
	s->unregistered = tried || s->wait < 0 || left;
	return s->unregistered ? RULE_REMOVED : RULE_NONE;
}

// Without an event that resumed it where it stands, only its own registration, and what it left there to be
// read, speak for it.
bool unheard_masked(const struct suspect *s, uint32_t events, bool firm)
{
	return (events & CTP_REG_EVENTS) && !(events & stuck_wait_needed(s)) && s->wait >= 0 &&
	       (s->s.waits[s->wait].how & CTP_WAIT_EAGAIN) && s->c.was.event_time < s->s.since &&
	       (firm || (s->c.was.reg_by == s->s.id && s->ready == 1));
}

// No event of F came since it suspended, and none resumed it before where it stands.
static bool waits_elsewhere(const struct suspect *s)
{
	return s->c.was.event_time < s->s.since && !ctp_stands_there(&s->c.was, &s->s) && !ctp_in_pool(&s->s);
}

// It has written before, so its last write is no connect that is under way; and it does not stand where it
// waits for what it reads.
bool unheard_wrote(const struct suspect *s, uint32_t events)
{
	const struct ctp_fd *f = &s->c.was;
	return s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_WROTE) && (events & EPOLLIN) &&
	       !(events & OUT_EVENTS) && (f->last_out & ~CTP_FD_SEVERAL) == s->s.id && waits_elsewhere(s);
}

// It does not stand where it waits for what such a registration brings: urgent data, or the end.
bool unheard_wrong_mask(const struct suspect *s, uint32_t events)
{
	const struct ctp_fd *f = &s->c.was;
	uint32_t how = s->wait >= 0 ? s->s.waits[s->wait].how : 0, others = CTP_WAIT_WROTE | CTP_WAIT_REFUSED;
	bool reads = (how & CTP_WAIT_REGISTERED) || (how && (s->s.waits[s->wait].events & EPOLLIN));
	return (how & CTP_WAIT_EAGAIN) && !(how & others) && reads && (events & CTP_REG_EVENTS) &&
	       !(events & (DATA_EVENTS | OUT_EVENTS)) && !(f->flags & (CTP_FD_RESTORED | CTP_FD_LISTENS)) &&
	       waits_elsewhere(s);
}

bool unheard_may_be_left(const struct suspect *s, bool firm)
{
	const struct ctp_fd *f = &s->c.was;
	const uint32_t told = CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED;
	if (firm || (f->flags & (CTP_FD_LISTENS | CTP_FD_MANY | CTP_FD_MANYREGS)) || ctp_in_pool(&s->s) ||
	    stuck_wait_directions(s) != EPOLLIN)
		return false;
	if (s->wait < 0)
		return ctp_left_unread(f, &s->s);
	return (f->reg_time || f->polled || f->polled_out) && s->s.nwaits == 1 &&
	       !(s->s.flags & CTP_STATE_MOREWAITS) && (s->s.waits[s->wait].how & told);
}

static int64_t unread(struct queued *q, pid_t pid, int fd, bool asleep)
{
	int bytes = 0;
	if (!asleep)
		return queued_bytes(q, pid, fd);
	int is = stuck_wait_readable(pid, fd, &bytes);
	return is == 1 ? bytes : is;
}

bool unheard_find_left(struct suspect *s, bool firm, struct queued *q, pid_t pid, bool asleep, bool late)
{
	s->may_be_left = unheard_may_be_left(s, firm);
	if (!s->may_be_left)
		return false;
	int64_t bytes = late ? 0 : unread(q, pid, s->c.fd, asleep);
	s->may_be_left = bytes > 0;
	s->queued = bytes > 0 && !asleep ? bytes : 0;
	s->ready = bytes > 0 ? 1 : s->ready;
	return bytes <= 0;
}

void unheard_note_left(struct suspect *s, int64_t bytes, uint64_t now_ns)
{
	if (!bytes || !s->may_be_left) {
		s->left_ns = 0;
		s->left = false;
	} else if (bytes > 0) {
		s->left_ns = s->left_ns ? s->left_ns : now_ns;
		s->left |= now_ns - s->left_ns >= LEFT_NS;
	}
}

bool unheard_abandoned(pid_t pid, int epfd)
{
	return stuck_wait_ready(pid, epfd, EPOLLIN) == 1;
}

// ------------------------------------------------------------------------ P3

static bool is_full(const struct inspection *l, int fd, uint32_t events, unsigned *asked)
{
	return (events & OUT_EVENTS) && *asked < FULL_ASKED && ++*asked &&
	       stuck_wait_ready(l->pid, fd, EPOLLOUT) == 0;
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

// Its registration went with an event that it had, and none was made since.
static void unregistered(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	bool polled = s->c.was.polled || s->c.was.polled_out;
	int full = *l->hidden || stuck_wait_full(s) ? -1 : unheard_full_one(l);
	if (*l->hidden)
		inspect_say(a, HOLDS_OPEN, "%.180s: it may be registered there", l->hidden);
	else if (full >= 0)
		inspect_say(
			a, HOLDS_OPEN,
			"fd %d is full, and a loop waits for it to take more: fd %d#%u may be left out until then",
			full, s->c.fd, s->c.gen);
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
			polled ? "it was left out after the last event" :
				 "its registration went with the last event, and none was made since");
}

// Left out, and so by whoever waits: what is read would have room, as far as that can be told.
static void wrong_mask(struct inspection *l, struct suspect *s, const struct unheard_rows *rows)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	char names[96] = "no events", where[48] = "in the set that a thread polls, with";
	uint32_t events = rows->events;
	int full = unheard_full_one(l);
	for (size_t i = 0; !rows->n && l->polled && i < l->tasks.n; i++)
		for (size_t k = 0; k < l->polled[i].n; k++)
			events |= l->polled[i].v[k].fd == s->c.fd ? l->polled[i].v[k].events : 0;
	if (rows->n)
		snprintf(where, sizeof(where), "registered in epoll fd %d for", rows->epfd);
	if (events & (EPOLLRDHUP | EPOLLPRI))
		words_events(events & (EPOLLRDHUP | EPOLLPRI), names, sizeof(names));
	if (full >= 0)
		inspect_say(
			a, HOLDS_OPEN,
			"fd %d is full, and a loop waits for it to take more: fd %d#%u may be left out until then",
			full, s->c.fd, s->c.gen);
	else
		inspect_say(a, HOLDS_TRUE,
			    "fd %d#%u is readable, and its last read had to wait; it is %s %s, not EPOLLIN",
			    s->c.fd, s->c.gen, where, names);
}

static void without_event(struct inspection *l, struct suspect *s, const struct unheard_rows *rows)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	bool is_refused = s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REFUSED);
	if (rows->needed || (rows->n && !(rows->events & CTP_REG_EVENTS)) ||
	    (!rows->n && !is_refused && !s->unregistered && !s->wrong_mask) || (rows->n && s->unregistered))
		inspect_say(a, HOLDS_FALSE, "fd %d#%u is registered for it, or was a one-shot", s->c.fd,
			    s->c.gen);
	else if (kernel_threads_hold(l, s))
		return;
	else if (s->unregistered)
		unregistered(l, s);
	else if (s->wrong_mask)
		wrong_mask(l, s, rows);
	else if (rows->n && s->wrote)
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is writable, and its last write had to wait; its row in epoll fd %d has EPOLLIN, "
			"not EPOLLOUT",
			s->c.fd, s->c.gen, rows->epfd);
	else if (rows->n)
		kernel_say_masked(s, rows->epfd, rows->events);
	else
		inspect_say(
			a, HOLDS_TRUE,
			"fd %d#%u is registered nowhere: its EPOLL_CTL_MOD failed with ENOENT, and it waited all the same",
			s->c.fd, s->c.gen);
}

// Who polls may poll this one next: a thread that is not asleep in a loop's wait, or wakes by a timeout and
// has not made three complete turns since. 0: nobody. *slow: such a timeout is so long that the events have
// waited for long, and nobody has come to them.
static uint32_t may_poll(const struct inspection *l, const struct suspect *s, bool *slow)
{
	bool waited = proc_now_ns() > s->found_ns + SLOW_NS;
	*slow = false;
	for (uint32_t i = 0; i < l->nthreads; i++) {
		const struct ctp_thread *t = &l->threads[i];
		if (t->life != CTP_THREAD_LIVE || (!t->polls && !t->sets))
			continue;
		bool turned = l->loops && complete_turns_made(l->loops, i, t->uses, s->c.epoch);
		bool timed = t->wait_timeout_ns > 0 && !turned;
		bool slept = waited && t->wait_timeout_ns >= (int64_t)LONG_SLEEP_NS;
		if (!ctp_loop_waits(t) || (timed && !slept))
			return t->tid;
		*slow |= timed;
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
	bool slow;
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

// SPDX-License-Identifier: MIT
//
// What the tables and the descriptor say of events that reach nobody. unheard_judge.c of the witness answers
// whether it is so.
#include "engine/suspects/unheard.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/grow.h"
#include "ctp/polled.h"
#include "ctp/there.h"
#include "ctp/wait_inference.h"
#include "engine/suspects/poller.h"
#include "engine/suspects/stuck_wait.h"

#define DATA_EVENTS ((uint32_t)(EPOLLIN | EPOLLRDNORM))
#define LEFT_NS 1000000000ULL
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
	u->filled = 0;
	for (uint64_t fd = ctp_walk_from(&w, 0); fd < w.n; fd = ctp_walk_from(&w, fd + 1)) {
		struct ctp_fd f, of;
		if (r->fds[fd].kind != CTP_FD_EPOLL || !inspect_fd(r, fd, &f) || f.life != CTP_FD_OPEN)
			continue;
		u->filled += (f.flags & CTP_FD_ROWS) != 0;
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
	if (f->reg_epfd < 0 && ((f->polled && f->waiter[0]) || (f->polled > f->polled_out && f->waiter[1])))
		return true;
	if (f->reg_epfd < 0)
		return (f->flags & (CTP_FD_REFUSED | CTP_FD_LISTENS)) || f->event_time ||
		       (f->reg_time && f->waiter[0]);
	if ((f->flags & CTP_FD_WROTE) || (f->event_time && ctp_masked(f)))
		return true;
	if ((f->waiter[0] && !(f->reg_events & DATA_EVENTS)) ||
	    (f->waiter[1] && !(f->reg_events & OUT_EVENTS)))
		return true;
	bool one_of = u->known ? u->n : u->filled > 1 && (f->waiter[0] | f->waiter[1]);
	return one_of && !(f->flags & CTP_FD_MANYREGS) && !unheard_polled(u, f->reg_epfd);
}

// Its last try was a write: as its registration told, or, where it made none, as the try did.
static bool wrote_last(const struct ctp_wait *wait)
{
	const uint32_t said = CTP_WAIT_REGISTERED | CTP_WAIT_REFUSED | CTP_WAIT_FULL;
	return (wait->how & CTP_WAIT_WROTE) || ((wait->how & CTP_WAIT_EAGAIN) && !(wait->how & said) &&
						(wait->events & OUT_EVENTS) && !(wait->events & EPOLLIN));
}

// It wrote in vain, and was polled since for what there is to be read: that it wanted to write is not sure.
static bool is_told_otherwise(const struct suspect *s)
{
	const struct ctp_fd *f = &s->c.was;
	return s->wait >= 0 && wrote_last(&s->s.waits[s->wait]) && f->polled > f->polled_out &&
	       f->polled > ctp_state_latest(&s->s);
}

bool unheard_told(const struct ctp_region *r, const struct suspect *s)
{
	const struct ctp_fd *f = &s->c.was;
	if (f->event_time < s->s.since)
		return false;
	uint32_t count = ctp_load32(&r->ext->cand_count);
	bool tried = s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_EAGAIN) && f->learned != s->s.id;
	struct ctp_walk w =
		ctp_walk(r, r->cands, sizeof(*r->cands), count < r->cands_max ? count : r->cands_max);
	for (uint64_t i = tried ? ctp_walk_from(&w, 0) : w.n; i < w.n; i = ctp_walk_from(&w, i + 1))
		if (r->cands[i].fd == s->c.fd && ctp_load32(&r->cands[i].ready) == CTP_CAND_READY &&
		    ctp_told_another(f, &s->s.waits[s->wait], &r->cands[i]))
			return false;
	return true;
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
	if (!firm || s->ready != 1 || is_told_otherwise(s))
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

// No event of F came since it suspended, and none that such a mask brings resumed it before where it stands.
// `other`: what resumed it there can be told to be of another mask.
static bool waits_elsewhere(const struct suspect *s, bool other)
{
	return s->c.was.event_time < s->s.since && !ctp_in_pool(&s->s) &&
	       (other || !ctp_stands_there(&s->c.was, &s->s));
}

// It has written before, so its last write is no connect that is under way; and it does not stand where it
// waits for what it reads: nor does who never read F.
bool unheard_wrote(const struct suspect *s, uint32_t events)
{
	const struct ctp_fd *f = &s->c.was;
	bool reads = (f->last_in & CTP_FD_SEVERAL) || (f->last_in & ~CTP_FD_SEVERAL) == s->s.id;
	return s->wait >= 0 && wrote_last(&s->s.waits[s->wait]) && (events & CTP_REG_EVENTS) &&
	       !(events & OUT_EVENTS) && (f->last_out & ~CTP_FD_SEVERAL) == s->s.id &&
	       waits_elsewhere(s, !reads);
}

bool unheard_connects(const struct ctp_fd *f)
{
	return !f->last_in && !f->last_out && (f->kind == CTP_FD_TCP || f->kind == CTP_FD_UNIX);
}

// What greets first would be heard.
bool unheard_connects_in_vain(const struct suspect *s, uint32_t events)
{
	return s->wait >= 0 && wrote_last(&s->s.waits[s->wait]) && (events & CTP_REG_EVENTS) &&
	       !(events & OUT_EVENTS) && unheard_connects(&s->c.was) && waits_elsewhere(s, true);
}

// It does not stand where it waits for what such a registration brings: urgent data, or the end. Who alone
// has read F before was resumed there by what it read.
bool unheard_wrong_mask(const struct suspect *s, uint32_t events)
{
	const struct ctp_fd *f = &s->c.was;
	uint32_t how = s->wait >= 0 ? s->s.waits[s->wait].how : 0, others = CTP_WAIT_WROTE | CTP_WAIT_REFUSED;
	bool reads = (how & CTP_WAIT_REGISTERED) || (how && (s->s.waits[s->wait].events & EPOLLIN));
	return (how & CTP_WAIT_EAGAIN) && !(how & others) && reads && (events & CTP_REG_EVENTS) &&
	       !(events & (DATA_EVENTS | OUT_EVENTS)) && !(f->flags & (CTP_FD_RESTORED | CTP_FD_LISTENS)) &&
	       waits_elsewhere(s, f->last_in == s->s.id);
}

// The end of a pipe that is read never has room.
static bool reads_wrong(const struct suspect *s, pid_t pid, uint32_t events)
{
	uint32_t beside = (events & ~OUT_EVENTS) | EPOLLERR; // an error comes unasked
	return unheard_wrong_mask(s, events) || ((events & OUT_EVENTS) && unheard_wrong_mask(s, beside) &&
						 stuck_wait_takes(pid, s->c.fd) == 0);
}

bool unheard_find_wrong(struct suspect *s, struct unheard_sets *u, pid_t pid, uint32_t events, bool *watch)
{
	const struct ctp_fd *f = &s->c.was;
	uint64_t polled = f->polled > f->polled_out ? f->polled : f->polled_out;
	bool given = !events;
	if (s->wait < 0 || (given && polled <= ctp_state_latest(&s->s)))
		return false;
	if (given)
		events = unheard_given(u, pid, s->c.fd);
	bool writes = given && (unheard_wrote(s, events) || unheard_connects_in_vain(s, events));
	if (!writes && !reads_wrong(s, pid, events))
		return false;
	bool is = stuck_wait_ready(pid, s->c.fd, writes ? EPOLLOUT : EPOLLIN) == 1;
	*(writes ? &s->wrote : &s->wrong_mask) = is;
	*watch |= !is;
	s->ready = is ? 1 : s->ready;
	return is;
}

bool unheard_may_be_left(const struct suspect *s, bool firm)
{
	const struct ctp_fd *f = &s->c.was;
	const uint32_t told = CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED;
	if (firm || (f->flags & (CTP_FD_LISTENS | CTP_FD_MANY | CTP_FD_MANYREGS)) || ctp_in_pool(&s->s) ||
	    stuck_wait_directions(s) != EPOLLIN)
		return false;
	if (s->wait < 0)
		return ctp_left_unread(f, &s->s) || ctp_left_refused(f, &s->s);
	return (f->reg_time || f->polled || f->polled_out) && s->s.nwaits == 1 &&
	       !(s->s.flags & CTP_STATE_MOREWAITS) && (s->s.waits[s->wait].how & told);
}

// The end of what F brings counts as what is unread, where its event came after a read in vain: who has read
// all that it wanted is told of nothing.
static bool end_counts(const struct suspect *s)
{
	return s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_EAGAIN) &&
	       s->c.was.event_time >= s->s.since;
}

int64_t unheard_unread(const struct suspect *s, pid_t pid)
{
	int bytes = 0, is = stuck_wait_readable(pid, s->c.fd, &bytes);
	if (is == 1 && !bytes && end_counts(s) && stuck_wait_ended(pid, s->c.fd) == 1)
		return 1;
	return is == 1 ? bytes : is;
}

bool unheard_find_left(struct suspect *s, bool firm, struct queued *q, pid_t pid, bool asleep, bool late)
{
	s->may_be_left = unheard_may_be_left(s, firm);
	if (!s->may_be_left)
		return false;
	int64_t bytes = late ? 0 : asleep ? unheard_unread(s, pid) : queued_bytes(q, pid, s->c.fd);
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

bool unheard_passed_by(struct unheard_sets *u, const struct suspect *s, pid_t pid, int epfd)
{
	if (s->c.was.event_time >= s->s.since || s->wait < 0 || !(s->s.waits[s->wait].how & CTP_WAIT_EAGAIN))
		return false;
	if (u->asked_set != epfd + 1) {
		u->asked_set = epfd + 1;
		u->waits = unheard_abandoned(pid, epfd);
	}
	return u->waits && stuck_wait_ready(pid, s->c.fd, stuck_wait_directions(s)) == 1;
}

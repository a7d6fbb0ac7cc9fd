// SPDX-License-Identifier: MIT
//
// Which rule a pair of a coroutine and an open descriptor falls under, by the kernel's registrations and, for
// edges, by the descriptor itself. That is asked only while every thread sleeps, since the copy that it takes
// keeps a file alive for a moment.
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/search.h"
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "ctp/wait_inference.h"
#include "engine/suspects/signal_wait.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/suspects/stuck_walk.h"

enum { SENT_MOST = 64 };

static int by_number(const void *a, const void *b)
{
	const struct registration *x = *(struct registration *const *)a,
				  *y = *(struct registration *const *)b;
	return x->tfd < y->tfd ? -1 : x->tfd > y->tfd;
}

bool stuck_rule_sort(struct stuck_walk *w)
{
	w->by_number = calloc(w->registrations.n + 1, sizeof(struct registration *));
	if (!w->by_number)
		return false;
	for (size_t i = 0; i < w->registrations.n; i++)
		w->by_number[i] = &w->registrations.v[i];
	qsort(w->by_number, w->registrations.n, sizeof(struct registration *), by_number);
	return true;
}

// The bits of all rows of the open file, or'ed. 0: none, or all have fired: *rows says how many. *set: one
// that has an armed row, polled if any is; -1: none.
static uint32_t armed(const struct stuck_walk *w, int fd, unsigned *rows, int *set)
{
	size_t lo = FIRST_NOT(w->registrations.n, i, w->by_number[i]->tfd < fd);
	uint32_t events = 0;
	*set = -1;
	for (*rows = 0; lo < w->registrations.n && w->by_number[lo]->tfd == fd; lo++) {
		if (!stuck_wait_registered(w->by_number[lo], w->pid, fd))
			continue;
		++*rows;
		if (!(w->by_number[lo]->events & CTP_REG_EVENTS))
			continue;
		events |= w->by_number[lo]->events;
		if (*set < 0 || !unheard_polled(&w->sets, *set))
			*set = w->by_number[lo]->epfd;
	}
	return events;
}

// Does F's registration lead to another, who does not wait for F, and ran since C
// suspended? Then either an event of F resumed that one, or the edge that made F
// ready, after C's last try, can have gone nowhere else.
static bool went_to_another(const struct stuck_walk *w, const struct suspect *x, uint32_t events)
{
	const struct ctp_fd *f = &x->c.was;
	uint64_t station = f->leads >> CTP_ID_BITS, id = f->leads & CTP_ID_MASK;
	struct ctp_state d;
	if (!id || id == x->s.id || x->wait < 0 || station >= w->s->r->stations_max ||
	    !ctp_there(w->s->r, &w->s->r->states[station]) ||
	    !ctp_state_read(&w->s->r->states[station], &d) || d.id != id)
		return false;
	bool told = f->event_time >= x->s.since && f->learned == id;
	bool edge = (events & EPOLLET) && (x->s.waits[x->wait].how & CTP_WAIT_EAGAIN);
	bool too = stuck_tables_wait(&d, x->c.fd, f) >= -1; // a reader and a writer, several acceptors
	return (told || edge) && !too &&
	       (d.life == CTP_RUNNING || (d.life == CTP_SUSPENDED && d.since > ctp_state_latest(&x->s)));
}

// Nothing to blame anybody for, as long as no connection could be accepted.
static bool crowded(struct stuck_walk *w, const struct suspect *x)
{
	if (!w->crowded && stuck_wait_full(x))
		w->crowded = stuck_wait_can_open(w->pid) == 1 ? -1 : 1;
	return stuck_wait_full(x) && w->crowded > 0;
}

// Where no thread sleeps, a loop may pass by what there is to be read, turn by turn; the judge counts them.
static bool passed_by(struct stuck_walk *w, struct suspect *x, uint32_t events)
{
	if (w->asleep || signals_late(w->deadline_ns) || !(events & EPOLLET) ||
	    stuck_wait_directions(x) != EPOLLIN)
		return false;
	x->queued = queued_bytes(&w->queued, w->pid, x->c.fd);
	return x->queued > 0;
}

// It may wait for room without need. Such there are many, of whom the first tell enough.
static bool sent_short(struct stuck_walk *w, struct suspect *x)
{
	if (x->wait >= 0 || !ctp_sent_short(&x->c.was, &x->s) || w->sent >= SENT_MOST)
		return false;
	x->sent = true;
	x->ready = stuck_wait_ready(w->pid, x->c.fd, stuck_wait_directions(x));
	x->sent = x->ready == 1;
	w->sent += x->sent;
	return x->sent;
}

enum ctp_rule stuck_rule(struct stuck_walk *w, struct suspect *x)
{
	unsigned rows;
	int set;
	uint32_t events = armed(w, x->c.fd, &rows, &set);
	bool late = signals_late(w->deadline_ns), firm = stuck_wait_firm(x, w->pid), ask = w->asleep && !late;
	bool told = x->c.was.event_time >= x->s.since, another = went_to_another(w, x, events);
	if (crowded(w, x))
		return RULE_NONE;
	if (ask && unheard_find_wrong(x, &w->sets, w->pid, rows ? events : 0, &w->watch))
		return RULE_REMOVED;
	if (!rows) {
		x->ready = ask && (told || firm) ?
				   stuck_wait_ready(w->pid, x->c.fd, stuck_wait_directions(x)) :
				   -1;
		w->watch |= unheard_find_left(x, firm, &w->queued, w->pid, w->asleep, late);
		w->watch |= firm && x->ready == 0;
		return unheard_without_row(x, told && unheard_told(w->s->r, x), firm);
	}
	bool tried = x->wait >= 0 && (x->s.waits[x->wait].how & CTP_WAIT_EAGAIN) && !ctp_in_pool(&x->s);
	if (set >= 0 && (firm || tried) && ask && !unheard_polled(&w->sets, set) &&
	    (events & stuck_wait_needed(x))) {
		if (w->sets.known ? unheard_abandoned(w->pid, set) :
				    unheard_passed_by(&w->sets, x, w->pid, set))
			return RULE_ABANDONED;
		w->watch |= w->sets.known;
	}
	if (!(events & stuck_wait_needed(x)) && (events & CTP_REG_EVENTS)) {
		x->ready = ask ? stuck_wait_ready(w->pid, x->c.fd, stuck_wait_directions(x)) : -1;
		if (unheard_masked(x, events, firm))
			return RULE_REMOVED;
		w->watch |= x->wait < 0 && unheard_find_left(x, firm, &w->queued, w->pid, w->asleep, late);
		x->masked = x->wait < 0 && x->may_be_left;
		if (x->masked)
			return RULE_REMOVED;
	}
	if (unheard_wrote(x, events) || unheard_connects_in_vain(x, events)) {
		x->wrote = true;
		x->ready = ask ? stuck_wait_ready(w->pid, x->c.fd, EPOLLOUT) : -1;
		if (x->ready == 1)
			return RULE_REMOVED;
		x->wrote = false;
	}
	if (x->c.was.kind == CTP_FD_TIMERFD && (events & CTP_REG_EVENTS) &&
	    stuck_wait_disarmed(w->pid, x->c.fd) == 1)
		return firm && (w->final || !ctp_timer_of_others(&x->c.was, x->s.id)) ? RULE_TIMER :
											RULE_NONE;
	if (x->c.was.kind == CTP_FD_SIGNALFD && firm && ask && (events & stuck_wait_needed(x)) &&
	    signal_wait_deaf(w->pid, x->c.fd, NULL, 0) == 1)
		return RULE_SIGNAL;
	if (!events) {
		x->ready = ask ? stuck_wait_ready(w->pid, x->c.fd, stuck_wait_directions(x)) : -1;
		if (another && x->ready == 1)
			return RULE_WRONG_WAITER;
		w->watch |= unheard_find_left(x, firm, &w->queued, w->pid, w->asleep, late);
		return firm || x->wait >= 0 || x->may_be_left ? RULE_ONESHOT : RULE_NONE;
	}
	bool stopped_short = !firm && x->wait < 0 && ctp_stopped_short(&x->c.was, &x->s);
	if (!told && !another && (firm || stopped_short) && passed_by(w, x, events))
		return RULE_MISSED_EDGE;
	w->watch |= !told && !another && (firm || stopped_short) && (events & EPOLLET) && !w->asleep;
	if ((!firm && !another && !(stopped_short && !told)) || !ask ||
	    (x->ready = stuck_wait_ready(w->pid, x->c.fd, stuck_wait_directions(x))) != 1)
		return ask && !told && !another && sent_short(w, x) ? RULE_MISSED_EDGE : RULE_NONE;
	return another          ? RULE_WRONG_WAITER :
	       told             ? RULE_DELIVERED :
	       events & EPOLLET ? RULE_MISSED_EDGE :
				  RULE_NONE;
}

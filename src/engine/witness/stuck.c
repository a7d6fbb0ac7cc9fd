// SPDX-License-Identifier: MIT
//
// The walk over the tables: descriptors first, as their entries name the waiters; all stations only if
// an entry does not name all of them. Then the kernel's registrations, once; and for edges the
// descriptor itself, asked only while every thread sleeps, since the copy that this takes keeps a file
// alive for a moment. stuck_pace.c says when a walk is made. A program that is never idle is found asleep
// between two of its turns, if at all. Indices from the region are bounded, and its contents are
// not trusted.
#include "engine/witness/stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "base/living.h"
#include "base/search.h"
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "ctp/wait_inference.h"
#include "engine/memory/queued.h"
#include "engine/witness/signal_wait.h"
#include "engine/witness/stuck_wait.h"
#include "engine/witness/unheard.h"

#define MS 1000000ULL
enum { REST_MS = STUCK_PACE_REST_MS, READY_MS = 50 };
enum { FINAL_PAUSE_NS = 3000000, STOPPED_PAUSE_NS = 250000, STOPPED_SHARES = 4, TRIES = 12 }; // at the end
enum { ROWS_LIVE = 10000, PAIRS_MAX = 65536, PARKED_MAX = 4096, READERS_MAX = 65536, HINTS = 3 };

struct reader {
	uint64_t id; // of a coroutine
	int fd;
};

struct walk {
	struct suspects *s;
	pid_t pid;
	bool final, asleep, hints;
	uint64_t now_ns, deadline_ns, turns, epoch;
	struct suspect **pairs; // coroutines and descriptors at which the tables hint
	size_t n, room;
	uint64_t *referenced; // sorted: ids that an open registration names
	size_t nreferenced, referenced_room;
	struct reader *readers; // of descriptors whose entries name them in no other way
	size_t nreaders, readers_room;
	bool many;   // an entry does not name all who wait
	bool watch;  // there may be something to be read soon, of which nothing can tell the program
	int crowded; // no descriptor is free: 1, -1: one is; 0: not asked
	struct unheard_sets sets;
	struct registrations registrations;
	struct queued queued;
	struct registration **by_number; // rows, sorted by number
	struct idmap ids;                // of coroutines that are suspects already: of the first `named`
	size_t named;
};

// ------------------------------------------------------------- hints of the tables

static bool hinted(const struct walk *w, const struct ctp_fd *f)
{
	bool rows = f->reg_epfd >= 0 || (f->flags & CTP_FD_MANYREGS);
	return f->life == CTP_FD_OPEN &&
	       ((rows && ((f->reg_events & (EPOLLONESHOT | EPOLLET)) || f->kind == CTP_FD_TIMERFD ||
			  f->kind == CTP_FD_SIGNALFD)) ||
		unheard_hinted(&w->sets, f));
}

static struct suspect *new_suspect(const struct walk *w, uint32_t station, const struct ctp_state *c)
{
	struct suspect *x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->cand = STUCK_WAIT_NO_CAND;
	x->s = *c;
	x->s.station = station;
	x->c = (struct ctp_cand){.fd = -1, .epoch = w->epoch, .time = UINT64_MAX};
	x->wait = -1;
	x->ready = -1;
	x->turns0 = w->turns;
	x->found_ns = w->now_ns;
	x->next_ns = w->now_ns + REST_MS * MS;
	return x;
}

// Does it wait for another open one, of which EAGAIN told it no less than of this?
static bool waits_elsewhere(const struct walk *w, const struct ctp_state *c, int fd, int wait)
{
	struct ctp_fd f;
	for (uint32_t i = 0; i < c->nwaits && i < CTP_WAITS; i++)
		if (c->waits[i].fd != fd && c->waits[i].fd >= 0 &&
		    !ctp_told_alone(wait < 0 ? NULL : &c->waits[wait], &c->waits[i]) &&
		    inspect_fd(w->s->r, (uint64_t)c->waits[i].fd, &f) && f.gen == c->waits[i].gen &&
		    f.life == CTP_FD_OPEN)
			return true;
	return (c->flags & CTP_STATE_MOREWAITS) != 0;
}

// Which of its waits is F? -1: none, but events of F resumed it from where it stands, or it first waited for
// F there; -2: it does not wait for F.
static int wait_of(const struct ctp_state *c, int fd, const struct ctp_fd *f)
{
	for (uint32_t i = 0; i < c->nwaits && i < CTP_WAITS; i++)
		if (c->waits[i].fd == fd && c->waits[i].gen == f->gen)
			return (int)i;
	return !c->nwaits && (ctp_stands_there(f, c) || ctp_stands_as_first(f, c)) ? -1 : -2;
}

static bool is_coroutine(const struct walk *w, uint64_t station, struct ctp_state *c)
{
	if (station >= w->s->r->stations_max)
		return false;
	const struct ctp_state *s = &w->s->r->states[station];
	return ctp_there(w->s->r, s) && ctp_load32(&s->owner) == CTP_OWNER_GUEST &&
	       s->life == CTP_SUSPENDED && s->entity == CTP_COROUTINE &&
	       ctp_state_read_settled(w->s->r, s, c) && c->life == CTP_SUSPENDED &&
	       c->entity == CTP_COROUTINE && c->runs;
}

static void add_pair(struct walk *w, struct suspect *x)
{
	if (w->n == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct suspect **more =
			room <= PAIRS_MAX ? realloc(w->pairs, room * sizeof(struct suspect *)) : NULL;
		if (!more) {
			free(x);
			return;
		}
		w->pairs = more;
		w->room = room;
	}
	w->pairs[w->n++] = x;
}

static void pair(struct walk *w, uint64_t station, int fd, const struct ctp_fd *f)
{
	struct ctp_state c;
	if (!is_coroutine(w, station, &c))
		return;
	int wait = ctp_stopped_short(f, &c) || ctp_left_unread(f, &c) ? -1 : wait_of(&c, fd, f);
	if (wait < -1 || waits_elsewhere(w, &c, fd, wait))
		return;
	for (size_t i = w->n, k = 0; i-- > 0 && k < HINTS && w->pairs[i]->c.fd == fd;
	     k++) // its own are the last ones
		if (w->pairs[i]->s.id == c.id)
			return;
	struct suspect *x = new_suspect(w, (uint32_t)station, &c);
	if (!x)
		return;
	x->c.fd = fd;
	x->c.gen = f->gen;
	x->c.fd_kind = f->kind;
	x->c.was = *f;
	x->wait = wait;
	add_pair(w, x);
}

static void referenced(struct walk *w, uint64_t id)
{
	if (!id || !w->final)
		return;
	if (w->nreferenced == w->referenced_room) {
		size_t room = w->referenced_room ? 2 * w->referenced_room : 256;
		uint64_t *more = realloc(w->referenced, room * sizeof(*more));
		if (!more)
			return;
		w->referenced = more;
		w->referenced_room = room;
	}
	w->referenced[w->nreferenced++] = id & CTP_ID_MASK;
}

static void add_reader(struct walk *w, const struct ctp_fd *f, int fd)
{
	const uint64_t hints[HINTS] = {f->waiter[0], f->waiter[1], f->leads};
	bool named = !f->last_in || !f->event_time || (f->last_in & ~CTP_ID_MASK);
	for (size_t i = 0; i < HINTS; i++)
		named |= (hints[i] & CTP_ID_MASK) == f->last_in;
	if (!named && w->nreaders < READERS_MAX && !GROW(w->readers, w->nreaders, w->readers_room))
		w->readers[w->nreaders++] = (struct reader){f->last_in, fd};
}

static void walk_fds(struct walk *w)
{
	const struct ctp_region *r = w->s->r;
	struct ctp_walk all = ctp_walk_fds(r);
	for (uint64_t fd = ctp_walk_from(&all, 0); fd < all.n; fd = ctp_walk_from(&all, fd + 1)) {
		struct ctp_fd f;
		if (r->fds[fd].life != CTP_FD_OPEN || !inspect_fd(r, fd, &f))
			continue;
		const uint64_t hints[HINTS] = {f.waiter[0], f.waiter[1], f.leads};
		bool is = hinted(w, &f);
		for (size_t i = 0; i < HINTS; i++) {
			referenced(w, hints[i]);
			if (is && hints[i])
				pair(w, hints[i] >> CTP_ID_BITS, (int)fd, &f);
		}
		referenced(w, f.learned);
		referenced(w, f.adder);
		w->many |= is && (f.flags & CTP_FD_MANY);
		if (is)
			add_reader(w, &f, (int)fd);
	}
}

// Those whom no entry names.
static void walk_stations(struct walk *w)
{
	const struct ctp_region *r = w->s->r;
	struct ctp_walk all = ctp_walk_states(r);
	for (uint64_t i = ctp_walk_from(&all, 0); i < all.n; i = ctp_walk_from(&all, i + 1)) {
		const struct ctp_state *s = &r->states[i];
		for (uint32_t k = 0; s->life == CTP_SUSPENDED && k < s->nwaits && k < CTP_WAITS; k++) {
			struct ctp_fd f;
			int fd = s->waits[k].fd;
			if (fd < 0 || !inspect_fd(r, (uint64_t)fd, &f) || !hinted(w, &f) ||
			    !(f.flags & CTP_FD_MANY) || (f.waiter[0] >> CTP_ID_BITS == i && f.waiter[0]) ||
			    (f.waiter[1] >> CTP_ID_BITS == i && f.waiter[1]))
				continue;
			pair(w, i, fd, &f);
		}
	}
}

static int by_reader(const void *a, const void *b)
{
	const struct reader *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

// Those whom no entry names but as the one that has read.
static void walk_readers(struct walk *w)
{
	const struct ctp_region *r = w->s->r;
	struct ctp_walk all = ctp_walk_states(r);
	if (w->nreaders)
		qsort(w->readers, w->nreaders, sizeof(*w->readers), by_reader);
	for (uint64_t i = ctp_walk_from(&all, 0); i < all.n; i = ctp_walk_from(&all, i + 1)) {
		const struct ctp_state *s = &r->states[i];
		if (s->life != CTP_SUSPENDED || s->nwaits)
			continue;
		for (size_t k = FIRST_NOT(w->nreaders, at, w->readers[at].id < s->id);
		     k < w->nreaders && w->readers[k].id == s->id; k++) {
			struct ctp_fd f;
			if (inspect_fd(r, (uint64_t)w->readers[k].fd, &f) && hinted(w, &f))
				pair(w, i, w->readers[k].fd, &f);
		}
	}
}

// ------------------------------------------------------------- what the kernel says

static int by_number(const void *a, const void *b)
{
	const struct registration *x = *(struct registration *const *)a,
				  *y = *(struct registration *const *)b;
	return x->tfd < y->tfd ? -1 : x->tfd > y->tfd;
}

static bool sort_rows(struct walk *w)
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
static uint32_t armed(const struct walk *w, int fd, unsigned *rows, int *set)
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
static bool went_to_another(const struct walk *w, const struct suspect *x, uint32_t events)
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
	bool too = wait_of(&d, x->c.fd, f) >= -1; // a reader and a writer, several acceptors
	return (told || edge) && !too &&
	       (d.life == CTP_RUNNING || (d.life == CTP_SUSPENDED && d.since > ctp_state_latest(&x->s)));
}

// Nothing to blame anybody for, as long as no connection could be accepted.
static bool crowded(struct walk *w, const struct suspect *x)
{
	if (!w->crowded && stuck_wait_full(x))
		w->crowded = stuck_wait_can_open(w->pid) == 1 ? -1 : 1;
	return stuck_wait_full(x) && w->crowded > 0;
}

// Where no thread sleeps, a loop may pass by what there is to be read, turn by turn; the judge counts them.
static bool passed_by(struct walk *w, struct suspect *x, uint32_t events)
{
	if (w->asleep || signals_late(w->deadline_ns) || !(events & EPOLLET) ||
	    stuck_wait_directions(x) != EPOLLIN)
		return false;
	x->queued = queued_bytes(&w->queued, w->pid, x->c.fd);
	return x->queued > 0;
}

// It read in vain, and its mask, in an epoll set or in what poll or select was given, brings nothing of that.
static bool wrong_mask(struct walk *w, struct suspect *x, uint32_t events, bool ask)
{
	uint64_t polled = x->c.was.polled;
	if (!ask || x->wait < 0 || (!events && polled <= ctp_state_latest(&x->s)))
		return false;
	if (!events)
		events = unheard_given(&w->sets, w->pid, x->c.fd);
	if (!unheard_wrong_mask(x, events))
		return false;
	x->wrong_mask = stuck_wait_ready(w->pid, x->c.fd, EPOLLIN) == 1;
	w->watch |= !x->wrong_mask;
	x->ready = x->wrong_mask ? 1 : x->ready;
	return x->wrong_mask;
}

// Of what is it suspected?
static enum ctp_rule rule_of(struct walk *w, struct suspect *x)
{
	unsigned rows;
	int set;
	uint32_t events = armed(w, x->c.fd, &rows, &set);
	bool late = signals_late(w->deadline_ns), firm = stuck_wait_firm(x, w->pid), ask = w->asleep && !late;
	bool told = x->c.was.event_time >= x->s.since, another = went_to_another(w, x, events);
	if (crowded(w, x))
		return RULE_NONE;
	if (wrong_mask(w, x, rows ? events : 0, ask))
		return RULE_REMOVED;
	if (!rows) {
		x->ready = ask && (told || firm) ?
				   stuck_wait_ready(w->pid, x->c.fd, stuck_wait_directions(x)) :
				   -1;
		w->watch |= unheard_find_left(x, firm, &w->queued, w->pid, w->asleep, late);
		w->watch |= firm && x->ready == 0;
		return unheard_without_row(x, told, firm);
	}
	bool tried = x->wait >= 0 && (x->s.waits[x->wait].how & CTP_WAIT_EAGAIN) && !ctp_in_pool(&x->s);
	if (set >= 0 && (firm || tried) && ask && w->sets.known && !unheard_polled(&w->sets, set) &&
	    (events & stuck_wait_needed(x))) {
		if (unheard_abandoned(w->pid, set))
			return RULE_ABANDONED;
		w->watch = true;
	}
	if (!(events & stuck_wait_needed(x)) && (events & CTP_REG_EVENTS)) {
		x->ready = ask ? stuck_wait_ready(w->pid, x->c.fd, stuck_wait_directions(x)) : -1;
		if (unheard_masked(x, events, firm))
			return RULE_REMOVED;
	}
	if (unheard_wrote(x, events)) {
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
		return RULE_NONE;
	return another          ? RULE_WRONG_WAITER :
	       told             ? RULE_DELIVERED :
	       events & EPOLLET ? RULE_MISSED_EDGE :
				  RULE_NONE;
}

// ------------------------------------------------------------- suspects

// A candidate of its end says more.
static bool has_candidate(const struct suspects *s, const struct suspect *x)
{
	for (size_t i = 0; x->rule == RULE_REMOVED && i < s->n; i++)
		if (s->v[i]->cand != STUCK_WAIT_NO_CAND && s->v[i]->rule == x->rule &&
		    s->v[i]->s.id == x->s.id && s->v[i]->c.fd == x->c.fd && s->v[i]->c.gen == x->c.gen)
			return true;
	return false;
}

static bool known(struct walk *w, const struct suspect *x)
{
	const struct suspects *s = w->s;
	if (has_candidate(s, x))
		return true;
	for (; w->named < s->n; w->named++) // those of the walks before, mostly
		if (s->v[w->named]->cand == STUCK_WAIT_NO_CAND && idmap_set(&w->ids, s->v[w->named]->s.id, 0))
			return true; // no memory: no more of them
	for (size_t i = idmap_get(&w->ids, x->s.id) == IDMAP_NONE ? s->n : 0; i < s->n; i++)
		if (s->v[i]->cand == STUCK_WAIT_NO_CAND && s->v[i]->s.id == x->s.id &&
		    s->v[i]->rule == x->rule && s->v[i]->c.fd == x->c.fd && s->v[i]->c.gen == x->c.gen &&
		    s->v[i]->s.changes == x->s.changes)
			return true;
	return false;
}

static void identify(const struct walk *w, struct suspect *x)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(w->pid), x->c.fd);
	if (x->c.fd < 0 || stat(path, &st))
		return;
	x->c.dev = st.st_dev;
	x->c.ino = st.st_ino;
	x->c.mode = st.st_mode;
}

static void keep(struct walk *w, struct suspect *x)
{
	struct suspects *s = w->s;
	if (known(w, x) || s->n >= SUSPECTS_MAX) {
		free(x);
		return;
	}
	if (!w->epoch) // whoever reads it from now on has been through a wait since
		w->epoch = ctp_add64(&s->r->ext->epoch, 1) + 1;
	x->c.epoch = w->epoch;
	identify(w, x);
	s->v[s->n++] = x;
}

static void ask_kernel(struct walk *w)
{
	bool rows =
		w->n &&
		!registrations_read(w->pid, w->final ? 0 : ROWS_LIVE, w->deadline_ns, &w->registrations) &&
		w->registrations.complete && sort_rows(w);
	for (size_t i = 0; i < w->n; i++) {
		struct suspect *x = w->pairs[i];
		bool late = w->final && signals_late(w->deadline_ns);
		x->rule = rows && !late ? rule_of(w, x) : RULE_NONE;
		if (x->rule)
			keep(w, x);
		else
			free(x);
	}
	w->n = 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

// CTP003: those that wait for nothing that is known. Only memory can tell whether anybody has them.
static void parked(struct walk *w)
{
	const struct ctp_region *r = w->s->r;
	struct ctp_walk all = ctp_walk_states(r);
	size_t found = 0;
	if (w->nreferenced)
		qsort(w->referenced, w->nreferenced, sizeof(*w->referenced), by_value);
	for (uint64_t i = ctp_walk_from(&all, 0); i < all.n && found < PARKED_MAX;
	     i = ctp_walk_from(&all, i + 1)) {
		if (all.rows % 4096 == 0 && signals_late(w->deadline_ns))
			return;
		struct ctp_state c;
		if (r->states[i].life != CTP_SUSPENDED || !is_coroutine(w, i, &c) || c.nwaits || !c.lo ||
		    (w->nreferenced &&
		     bsearch(&c.id, w->referenced, w->nreferenced, sizeof(*w->referenced), by_value)))
			continue;
		struct suspect *x = new_suspect(w, i, &c);
		if (!x)
			return;
		x->rule = RULE_PARKED;
		keep(w, x);
		found++;
	}
}

// ------------------------------------------------------------- when

static uint64_t turns_of(const struct ctp_region *r)
{
	uint64_t sum = 0;
	for (uint32_t i = 0, n = ctp_load32(&r->ext->thread_high); i < n && i < r->threads_max; i++)
		sum += r->threads[i].turns;
	return sum;
}

// At the end there is time until all threads sleep; more if the program is stopped again and again,
// or if a busy machine lets us ask only now and then.
static void await_sleep(struct stuck *k, struct walk *w)
{
	uint64_t share = w->deadline_ns > w->now_ns ? (w->deadline_ns - w->now_ns) / 2 : 0;
	bool stopped;
	for (int tries = 1; !(w->asleep = proc_asleep(w->pid, &stopped)); tries++) {
		stuck_note_stopped(k, stopped);
		unsigned shares = stuck_stopped(k) ? STOPPED_SHARES : tries < TRIES ? 2 : 1;
		if (proc_now_ns() >= w->now_ns + shares * share)
			break;
		nanosleep(&(struct timespec){.tv_nsec = stuck_stopped(k) ? STOPPED_PAUSE_NS : FINAL_PAUSE_NS},
			  NULL);
	}
	uint64_t until = proc_now_ns() + share;
	w->deadline_ns = until > w->deadline_ns ? until : w->deadline_ns;
}

void stuck_gather(struct stuck *k, struct suspects *s, pid_t pid, uint64_t final_ns, uint64_t now_ns)
{
	bool final = final_ns != 0;
	const struct ctp_ext *e = s->r->ext;
	struct walk w = {.s = s,
			 .pid = pid,
			 .final = final,
			 .now_ns = now_ns,
			 .turns = turns_of(s->r),
			 .deadline_ns = final ? final_ns : now_ns + READY_MS * MS};
	uint64_t sum = ctp_region_moves(s->r);
	bool idle = false, stopped = false;
	if ((!final && !stuck_pace_due(k, sum, now_ns, &idle)) || ctp_load64(&e->exit_begun))
		return;
	stopped = proc_stopped(pid);
	stuck_note_stopped(k, stopped);
	if (!final && stopped) { // nothing can be asked, and nothing happens meanwhile
		stuck_pace_put_off(k, now_ns);
		return;
	}
	unheard_sets_find(&w.sets, s->r);
	walk_fds(&w);
	if (w.many)
		walk_stations(&w);
	if (w.nreaders)
		walk_readers(&w);
	w.hints = w.n > 0;
	if (w.hints && final)
		await_sleep(k, &w);
	else if (w.hints)
		w.asleep = proc_asleep(pid, &stopped);
	ask_kernel(&w);
	if (final)
		parked(&w);
	free(w.pairs);
	free(w.referenced);
	free(w.readers);
	free(w.by_number);
	registrations_deinit(&w.registrations);
	queued_deinit(&w.queued);
	unheard_sets_deinit(&w.sets);
	idmap_deinit(&w.ids);
	stuck_pace_walked(k, &(struct stuck_paced){.moves = sum,
						   .begun_ns = now_ns,
						   .idle = idle,
						   .stopped = stopped,
						   .whole = w.asleep || (idle && !w.hints),
						   .watch = w.watch});
}

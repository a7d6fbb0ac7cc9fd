// SPDX-License-Identifier: MIT
//
// Pairs of a coroutine and an open descriptor, by the tables: descriptors first, as their entries name the
// waiters; all stations only if an entry does not name all of them. Indices from the region are bounded, and
// its contents are not trusted.
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/grow.h"
#include "base/search.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "ctp/wait_inference.h"
#include "engine/suspects/stuck_pace.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/suspects/stuck_walk.h"

#define MS 1000000ULL
enum { REST_MS = STUCK_PACE_REST_MS, PAIRS_MAX = 65536, READERS_MAX = 65536, HINTS = 3 };

static bool hinted(const struct stuck_walk *w, const struct ctp_fd *f)
{
	bool rows = f->reg_epfd >= 0 || (f->flags & CTP_FD_MANYREGS);
	return f->life == CTP_FD_OPEN &&
	       ((rows && ((f->reg_events & (EPOLLONESHOT | EPOLLET)) || f->kind == CTP_FD_TIMERFD ||
			  f->kind == CTP_FD_SIGNALFD)) ||
		unheard_hinted(&w->sets, f));
}

struct suspect *stuck_tables_suspect(const struct stuck_walk *w, uint32_t station, const struct ctp_state *c)
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
static bool waits_elsewhere(const struct stuck_walk *w, const struct ctp_state *c, int fd, int wait)
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

int stuck_tables_wait(const struct ctp_state *c, int fd, const struct ctp_fd *f)
{
	for (uint32_t i = 0; i < c->nwaits && i < CTP_WAITS; i++)
		if (c->waits[i].fd == fd && c->waits[i].gen == f->gen)
			return (int)i;
	return !c->nwaits && (ctp_stands_there(f, c) || ctp_stands_as_first(f, c)) ? -1 : -2;
}

bool stuck_tables_coroutine(const struct stuck_walk *w, uint64_t station, struct ctp_state *c)
{
	if (station >= w->s->r->stations_max)
		return false;
	const struct ctp_state *s = &w->s->r->states[station];
	return ctp_there(w->s->r, s) && ctp_load32(&s->owner) == CTP_OWNER_GUEST &&
	       s->life == CTP_SUSPENDED && s->entity == CTP_COROUTINE &&
	       ctp_state_read_settled(w->s->r, s, c) && c->life == CTP_SUSPENDED &&
	       c->entity == CTP_COROUTINE && c->runs;
}

static void add_pair(struct stuck_walk *w, struct suspect *x)
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

static void pair(struct stuck_walk *w, uint64_t station, int fd, const struct ctp_fd *f)
{
	struct ctp_state c;
	if (!stuck_tables_coroutine(w, station, &c))
		return;
	bool unnamed = ctp_stopped_short(f, &c) || ctp_left_unread(f, &c) || ctp_left_refused(f, &c) ||
		       ctp_sent_short(f, &c);
	int wait = unnamed ? -1 : stuck_tables_wait(&c, fd, f);
	if (wait < -1 || waits_elsewhere(w, &c, fd, wait))
		return;
	for (size_t i = w->n, k = 0; i-- > 0 && k < HINTS && w->pairs[i]->c.fd == fd;
	     k++) // its own are the last ones
		if (w->pairs[i]->s.id == c.id)
			return;
	struct suspect *x = stuck_tables_suspect(w, (uint32_t)station, &c);
	if (!x)
		return;
	x->c.fd = fd;
	x->c.gen = f->gen;
	x->c.fd_kind = f->kind;
	x->c.was = *f;
	x->wait = wait;
	add_pair(w, x);
}

static void referenced(struct stuck_walk *w, uint64_t id)
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

static void add_reader(struct stuck_walk *w, const struct ctp_fd *f, int fd)
{
	const uint64_t hints[HINTS] = {f->waiter[0], f->waiter[1], f->leads};
	bool refused = (f->flags & CTP_FD_REFUSED) && !f->last_in;
	uint64_t user = refused ? f->last_out : f->last_in;
	bool named = !user || !(f->event_time || (f->flags & CTP_FD_REFUSED)) || (user & ~CTP_ID_MASK);
	for (size_t i = 0; i < HINTS; i++)
		named |= (hints[i] & CTP_ID_MASK) == user;
	if (!named && w->nreaders < READERS_MAX && !GROW(w->readers, w->nreaders, w->readers_room))
		w->readers[w->nreaders++] = (struct stuck_reader){user, fd};
}

static void walk_fds(struct stuck_walk *w)
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
static void walk_stations(struct stuck_walk *w)
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
	const struct stuck_reader *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

// Those whom no entry names but as the one that has read.
static void walk_readers(struct stuck_walk *w)
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

void stuck_tables_find(struct stuck_walk *w)
{
	walk_fds(w);
	if (w->many)
		walk_stations(w);
	if (w->nreaders)
		walk_readers(w);
}

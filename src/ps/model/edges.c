// SPDX-License-Identifier: MIT
//
// Who waits for whom, as far as the tables show it. The other end of a pipe or a socketpair is
// in the table of descriptors; that of a connection is found by its addresses. An end belongs
// to the coroutine that has written to it (that has read from it, where the waiting one wants
// to write); if none has, to the one that uses it or waits on it. If several qualify, there is
// no edge. A coroutine or thread that sleeps on a lock waits for the thread that the lock
// names as its owner, or for the coroutine that was suspended while holding it. A cycle is
// reported only if each of its members waits for nothing else.
#include "ps/model/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/grow.h"
#include "base/search.h"
#include "ctp/rules.h"

#define NOBODY UINT64_MAX // more than one, or one that is not known

enum { INCIDENTS_AT_ONCE = 256, VALUE_LOCK = 1, VALUE_RELEASED = 3 };

struct end { // a number of a description
	uint64_t desc;
	const struct ctp_fd *row;
};

struct ends {
	struct end *v; // by description
	size_t n, capacity;
};

// ------------------------------------------------------------- the other end

static int by_desc(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	return (x->desc > y->desc) - (x->desc < y->desc);
}

static int read_ends(struct ends *s, const struct fds *f)
{
	const struct ctp_fd *row;
	int32_t fd;
	int e = 0;
	for (size_t i = 0; !e && (row = fds_at(f, i, &fd)); i++) {
		if (row->life != CTP_FD_OPEN || !row->desc)
			continue;
		e = GROW(s->v, s->n, s->capacity);
		if (!e)
			s->v[s->n++] = (struct end){row->desc, row};
	}
	if (!e && s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_desc);
	return e;
}

static void also(uint64_t *who, uint64_t one)
{
	if (one & (CTP_FD_SEVERAL | CTP_FD_UNNAMED))
		*who = NOBODY;
	else if (one)
		*who = *who && *who != one ? NOBODY : one;
}

static void also_waiting(uint64_t *who, const struct report *r, uint64_t hint)
{
	const struct coroutine *c = report_find(r, hint & CTP_ID_MASK);
	if (c && c->life == CTP_SUSPENDED)
		also(who, c->id);
}

// Who used this number of it in one direction; or in any, or waits there.
static void add_user(uint64_t *who, const struct report *r, const struct ctp_fd *f, bool wrote, bool any)
{
	if (wrote || any)
		also(who, f->last_out);
	if (!wrote || any)
		also(who, f->last_in);
	for (unsigned i = 0; any && i < 2; i++)
		also_waiting(who, r, f->waiter[i]);
}

static uint64_t user(const struct report *r, const struct ends *s, uint64_t desc, bool wrote, bool any)
{
	uint64_t who = 0;
	size_t lo = FIRST_NOT(s->n, i, s->v[i].desc < desc);
	for (; lo < s->n && s->v[lo].desc == desc; lo++)
		add_user(&who, r, s->v[lo].row, wrote, any);
	return who;
}

// The one entity that can make it ready; 0 or NOBODY: there is none that is known.
static uint64_t mover(const struct report *r, const struct ends *s, const struct coroutine *c,
		      const struct coroutine_wait *w)
{
	const struct ctp_fd *f = fds_row(r->fds, w->fd), *other;
	bool out = (w->events & EPOLLOUT) && !(w->events & EPOLLIN);
	uint64_t who = 0;
	if (!f || f->gen != w->gen || f->life != CTP_FD_OPEN || (f->flags & CTP_FD_LISTENS) ||
	    c->status == STATUS_READY)
		return 0;
	if (f->kind == CTP_FD_EVENTFD)
		return f->desc ? user(r, s, f->desc, true, false) : 0;
	if (f->peer_desc) {
		who = user(r, s, f->peer_desc, !out, false);
		return who ? who : user(r, s, f->peer_desc, !out, true);
	}
	if (f->kind == CTP_FD_TCP && (other = fds_row(r->fds, fds_partner(r->fds, w->fd)))) {
		add_user(&who, r, other, !out, false);
		if (!who)
			add_user(&who, r, other, !out, true);
	}
	return who;
}

static int add(struct edges *e, struct edge edge)
{
	int error = GROW(e->v, e->n, e->capacity);
	if (!error)
		e->v[e->n++] = edge;
	return error;
}

static int add_waits(struct edges *e, const struct report *r, const struct ends *s)
{
	int error = 0;
	for (size_t i = 0; !error && i < r->tables.n; i++) {
		const struct coroutine *c = &r->tables.coroutines[i];
		for (unsigned k = 0; !error && k < c->nwaits; k++) {
			uint64_t to = mover(r, s, c, &c->waits[k]);
			if (to && to != NOBODY && to != c->id)
				error = add(e, (struct edge){.from = c->id,
							     .to = to,
							     .why = EDGE_OTHER_END,
							     .fd = c->waits[k].fd,
							     .gen = c->waits[k].gen,
							     .only = c->nwaits == 1 &&
								     !(c->flags & CTP_STATE_MOREWAITS)});
		}
	}
	return error;
}

// ------------------------------------------------------------- locks

// The suspended coroutine that has it, or 0.
static uint64_t held_by(const struct report *r, uint64_t lock)
{
	const struct ctp_ext *x = &r->found->header.ext;
	struct ctp_incident v[INCIDENTS_AT_ONCE];
	for (uint64_t at = 0; x->incidents[RULE_HELD] && at < x->incidents_max; at += INCIDENTS_AT_ONCE) {
		uint64_t n = x->incidents_max - at < INCIDENTS_AT_ONCE ? x->incidents_max - at :
									 INCIDENTS_AT_ONCE;
		if (source_read(&r->found->region, x->incidents_off + at * sizeof(*v), v, n * sizeof(*v)))
			return 0;
		for (uint64_t i = 0; i < n; i++) {
			const struct coroutine *c = v[i].ready == CTP_CAND_READY && v[i].rule == RULE_HELD &&
								    v[i].value[VALUE_LOCK] == lock &&
								    !v[i].value[VALUE_RELEASED] ?
							    report_find(r, v[i].who) :
							    NULL;
			if (c && c->life == CTP_SUSPENDED)
				return c->id;
		}
	}
	return 0;
}

// The entity on the thread that a pthread_mutex_t or _rwlock_t names as its owner, or 0.
static uint64_t owner_of(const struct report *r, uint64_t lock)
{
	uint32_t words[8] = {0};
	if (source_peek(&r->found->region, lock, words, sizeof(words)) || !words[0])
		return 0;
	for (size_t i = 0; i < r->tables.nthreads; i++) {
		const struct tables_thread *t = &r->tables.threads[i];
		if (t->tid == words[2] || t->tid == words[6])
			return t->current ? t->current : t->native;
	}
	return 0;
}

static int add_locks(struct edges *e, const struct report *r)
{
	int error = 0;
	for (size_t i = 0; !error && i < r->tables.nthreads; i++) {
		const struct tables_thread *t = &r->tables.threads[i];
		uint64_t from = t->current ? t->current : t->native;
		if (!t->waits || t->wait_call != CTP_IN_BLOCK || t->wait_fd != CTP_BLOCK_LOCK || !from)
			continue;
		uint64_t held = held_by(r, t->wait_buf), to = held ? held : owner_of(r, t->wait_buf);
		if (to && to != from)
			error = add(e, (struct edge){.from = from,
						     .to = to,
						     .why = held ? EDGE_HELD : EDGE_LOCK,
						     .lock = t->wait_buf,
						     .only = true});
	}
	return error;
}

// ------------------------------------------------------------- cycles

static int by_from(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

// The only edge from there, or NULL.
static const struct edge *only_from(const struct edges *e, uint64_t id)
{
	const struct edge key = {.from = id};
	size_t lo = FIRST_NOT(e->n, i, by_from(&e->v[i], &key) < 0);
	return lo < e->n && e->v[lo].from == id && e->v[lo].only ? &e->v[lo] : NULL;
}

static int note(struct edges *e, uint64_t word)
{
	int error = GROW(e->cycles, e->ncycles, e->cycles_capacity);
	if (!error)
		e->cycles[e->ncycles++] = word;
	return error;
}

int edges_find_cycles(struct edges *e)
{
	size_t *walk = calloc(e->n + 1, sizeof(*walk)); // of edges: in which walk it was visited
	int error = walk ? 0 : -ENOMEM;
	for (size_t i = 0; !error && i < e->n; i++) {
		const struct edge *at = e->v[i].only ? &e->v[i] : NULL;
		while (at && !walk[at - e->v]) {
			walk[at - e->v] = i + 1;
			at = only_from(e, at->to);
		}
		if (!at || walk[at - e->v] != i + 1)
			continue;
		const struct edge *begin = at;
		do {
			error = note(e, at->from);
			at = only_from(e, at->to);
		} while (!error && at != begin);
		if (!error)
			error = note(e, 0);
	}
	free(walk);
	return error;
}

int edges_find(struct edges *out, const struct report *r)
{
	struct edges got = {0};
	struct ends ends = {0};
	int e = read_ends(&ends, r->fds);
	if (!e)
		e = add_waits(&got, r, &ends);
	if (!e)
		e = add_locks(&got, r);
	free(ends.v);
	if (!e && got.n)
		qsort(got.v, got.n, sizeof(*got.v), by_from);
	if (!e)
		e = edges_find_cycles(&got);
	if (e)
		edges_deinit(&got);
	else
		*out = got;
	return e;
}

void edges_deinit(struct edges *e)
{
	free(e->v);
	free(e->cycles);
	*e = (struct edges){0};
}

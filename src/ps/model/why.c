// SPDX-License-Identifier: MIT
//
// What keeps a coroutine: the descriptors that it waits for, and those that an epoll set or a loop's poll or
// select watches and that lead to it: by the address in the registration's data, by who registered it,
// because the coroutine waited for it before, or because an event of it was followed by a switch into this
// coroutine. The same entries make ctp-analyze call it healthy (trace/image.c, mark_rows).
#include "ps/model/why.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "ctp/wait_inference.h"

struct lead {
	uint64_t id;
	int32_t fd;
	bool guessed; // by the registration's data, or by an event before: only where it stands there still
};

struct why {
	const struct fds *fds;
	struct lead *v; // by id, then by fd
	size_t n, capacity;
};

static int by_id(const void *a, const void *b)
{
	const struct lead *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->fd > y->fd) - (x->fd < y->fd);
}

static int add(struct why *w, struct lead l)
{
	if (!l.id)
		return 0;
	int e = GROW(w->v, w->n, w->capacity);
	if (!e)
		w->v[w->n++] = l;
	return e;
}

static int add_row(struct why *w, const struct tables *t, const struct ctp_fd *row, int32_t fd)
{
	bool set = row->reg_epfd >= 0;
	int e = 0;
	if (row->life != CTP_FD_OPEN || (!set && !tables_polled(t, row, NULL)))
		return 0;
	const struct lead all[] = {{row->leads & CTP_ID_MASK, fd, true},
				   {row->learned, fd, true},
				   {set ? row->adder : 0, fd, false},
				   {row->waiter[0] & CTP_ID_MASK, fd, false},
				   {row->waiter[1] & CTP_ID_MASK, fd, false}};
	for (size_t k = 0; !e && k < sizeof(all) / sizeof(*all); k++)
		e = add(w, all[k]);
	return e;
}

int why_new(struct why **out, const struct fds *f, const struct tables *t)
{
	struct why *w = calloc(1, sizeof(*w));
	const struct ctp_fd *row;
	int32_t fd;
	int e = w ? 0 : -ENOMEM;
	if (w)
		w->fds = f;
	for (size_t i = 0; !e && (row = fds_at(f, i, &fd)); i++)
		e = add_row(w, t, row, fd);
	if (e) {
		why_free(w);
		return e;
	}
	if (w->n)
		qsort(w->v, w->n, sizeof(*w->v), by_id);
	*out = w;
	return 0;
}

void why_free(struct why *w)
{
	if (w)
		free(w->v);
	free(w);
}

static size_t first_of(const struct why *w, uint64_t id)
{
	return FIRST_NOT(w->n, i, w->v[i].id < id);
}

static bool stands_there(const struct why *w, const struct lead *l, const struct coroutine *c)
{
	const struct ctp_state s = {.id = c->id, .stack = c->recorded};
	const struct ctp_fd *row = fds_row(w->fds, l->fd);
	return row && (!l->guessed || ctp_leads_here(row, &s));
}

// What poll and select were asked for with it.
static uint32_t polled_for(const struct ctp_fd *f)
{
	return (f->polled && f->polled >= f->polled_out ? (uint32_t)EPOLLIN : 0) |
	       (f->polled_out && f->polled_out >= f->polled ? (uint32_t)EPOLLOUT : 0);
}

static void add_lead(const struct why *w, int32_t fd, struct why_fd out[WHY_MOST], size_t *n)
{
	const struct ctp_fd *row = fds_row(w->fds, fd);
	for (size_t k = 0; k < *n; k++)
		if (out[k].fd == fd && out[k].gen == row->gen)
			return;
	uint32_t events = row->reg_epfd >= 0 ? row->reg_events : polled_for(row);
	out[(*n)++] =
		(struct why_fd){.fd = fd, .gen = row->gen, .events = events, .present = true, .row = row};
}

size_t why_of(const struct why *w, const struct tables *t, const struct coroutine *c,
	      struct why_fd out[WHY_MOST])
{
	size_t n = 0;
	for (unsigned i = 0; i < c->nwaits; i++) {
		const struct coroutine_wait *wait = &c->waits[i];
		const struct ctp_fd *row = fds_row(w->fds, wait->fd);
		out[n++] = (struct why_fd){
			.fd = wait->fd,
			.gen = wait->gen,
			.events = wait->events,
			.waits = true,
			.present = row && row->gen == wait->gen && row->life == CTP_FD_OPEN,
			.row = row,
		};
	}
	for (size_t i = first_of(w, c->id); i < w->n && w->v[i].id == c->id && n < WHY_MOST; i++)
		if (stands_there(w, &w->v[i], c))
			add_lead(w, w->v[i].fd, out, &n);
	for (size_t i = 0; i < n; i++)
		if (out[i].present && out[i].row->reg_epfd < 0)
			out[i].polled = tables_polled(t, out[i].row, &out[i].tid) != 0;
	return n;
}

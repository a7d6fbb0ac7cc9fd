// SPDX-License-Identifier: MIT
//
// What keeps a coroutine: the descriptors that it waits for, and those whose registration
// refers to it: by the address in the registration's data, by who registered it, or because an
// event of it was followed by a switch into this coroutine.
#include "ps/model/why.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"

struct lead {
	uint64_t id;
	int32_t fd;
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

static int add(struct why *w, uint64_t id, int32_t fd)
{
	if (!id)
		return 0;
	int e = GROW(w->v, w->n, w->capacity);
	if (!e)
		w->v[w->n++] = (struct lead){id, fd};
	return e;
}

int why_new(struct why **out, const struct fds *f)
{
	struct why *w = calloc(1, sizeof(*w));
	const struct ctp_fd *row;
	int32_t fd;
	int e = w ? 0 : -ENOMEM;
	if (w)
		w->fds = f;
	for (size_t i = 0; !e && (row = fds_at(f, i, &fd)); i++) {
		if (row->life != CTP_FD_OPEN || row->reg_epfd < 0)
			continue;
		const uint64_t who[] = {row->leads & CTP_ID_MASK, row->learned, row->adder};
		for (unsigned k = 0; !e && k < 3; k++)
			e = add(w, who[k], fd);
	}
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

size_t why_of(const struct why *w, const struct coroutine *c, struct why_fd out[WHY_MOST])
{
	size_t n = 0;
	for (unsigned i = 0; i < c->nwaits; i++) {
		const struct coroutine_wait *wait = &c->waits[i];
		const struct ctp_fd *row = fds_row(w->fds, wait->fd);
		out[n++] = (struct why_fd){wait->fd,
					   wait->gen,
					   wait->events,
					   true,
					   row && row->gen == wait->gen && row->life == CTP_FD_OPEN,
					   row};
	}
	for (size_t i = first_of(w, c->id); i < w->n && w->v[i].id == c->id && n < WHY_MOST; i++) {
		const struct ctp_fd *row = fds_row(w->fds, w->v[i].fd);
		bool known = false;
		for (size_t k = 0; k < n; k++)
			known |= out[k].fd == w->v[i].fd && out[k].gen == row->gen;
		if (!known)
			out[n++] = (struct why_fd){w->v[i].fd, row->gen, row->reg_events, false, true, row};
	}
	return n;
}

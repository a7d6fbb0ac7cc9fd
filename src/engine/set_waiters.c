// SPDX-License-Identifier: MIT
//
// A coroutine waits through a set if it registered there what it waits for, if
// what it waits for is registered there by somebody else, or, where its last
// slice left no wait, if a registration there is known to lead to it. The
// entry of a descriptor keeps the set and its generation after the set's end.
#include "engine/set_waiters.h"

#include <stdlib.h>

#include "base/grow.h"

bool set_waiters_add(struct set_waiters *w, uint32_t cand)
{
	uint32_t *more = realloc(w->cands, (w->n + 1) * sizeof(*more));
	if (!more)
		return false;
	w->cands = more;
	w->cands[w->n++] = cand;
	return true;
}

static bool in_set(const struct ctp_cand *c, int32_t epfd, uint32_t epgen)
{
	return c->fd == epfd && c->gen == epgen;
}

static void lead(struct set_waiters *w, uint64_t id, uint32_t cand)
{
	if (id && !GROW(w->led, w->nled, w->room))
		w->led[w->nled++] = (struct set_waiter){id, cand};
}

static int by_id(const void *a, const void *b)
{
	const struct set_waiter *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

void set_waiters_ready(struct set_waiters *w)
{
	uint64_t high = w->n ? ctp_load64(&w->r->ext->fd_high) : 0;
	for (uint64_t fd = 0; w->n && fd <= high && fd < w->r->fds_max; fd++) {
		struct ctp_fd f;
		if (w->r->fds[fd].reg_epfd < 0 || !look_fd(w->r, fd, &f) || f.life != CTP_FD_OPEN)
			continue;
		for (size_t i = 0; i < w->n; i++) {
			uint32_t cand = w->cands[i];
			if (!in_set(&w->r->cands[cand], f.reg_epfd, f.reg_epgen))
				continue;
			lead(w, f.learned, cand);
			lead(w, f.leads & CTP_ID_MASK, cand);
		}
	}
	if (w->nled)
		qsort(w->led, w->nled, sizeof(*w->led), by_id);
}

void set_waiters_deinit(struct set_waiters *w)
{
	free(w->cands);
	free(w->led);
	*w = (struct set_waiters){0};
}

// Is the wait's descriptor, still open, registered in the set that c ended?
static bool waits_in(const struct ctp_region *r, const struct ctp_cand *c, const struct ctp_wait *wait)
{
	struct ctp_fd f;
	if (wait->fd < 0 || !look_fd(r, (uint64_t)wait->fd, &f) || f.life != CTP_FD_OPEN || f.gen != wait->gen)
		return false;
	if ((wait->how & CTP_WAIT_REGISTERED) && in_set(c, wait->epfd, wait->epgen))
		return true;
	return in_set(c, f.reg_epfd, f.reg_epgen);
}

void set_waiters_match(const struct set_waiters *w, const struct ctp_state *s,
		       void (*found)(void *ctx, uint32_t cand, int wait), void *ctx)
{
	uint32_t n = s->nwaits < CTP_WAITS ? s->nwaits : CTP_WAITS;
	for (uint32_t i = 0; i < n; i++)
		for (size_t k = 0; k < w->n; k++)
			if (waits_in(w->r, &w->r->cands[w->cands[k]], &s->waits[i]))
				found(ctx, w->cands[k], (int)i);
	const struct set_waiter key = {.id = s->id}, *at = n || !w->nled ? NULL :
		bsearch(&key, w->led, w->nled, sizeof(*w->led), by_id);
	if (!at)
		return;
	while (at > w->led && at[-1].id == s->id)
		at--;
	for (; at < w->led + w->nled && at->id == s->id; at++)
		found(ctx, at->cand, -1);
}

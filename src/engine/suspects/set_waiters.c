// SPDX-License-Identifier: MIT
//
// A coroutine waits through a set if it registered there what it waits for; if another coroutine
// registered that there; or, if its last slice left no wait, if a registration there is known to
// reference it. The entry of a descriptor keeps the set and its generation after the set's end.
#include "engine/suspects/set_waiters.h"

#include <stdlib.h>

#include "base/grow.h"
#include "ctp/there.h"

static uint64_t set_key(int32_t epfd, uint32_t epgen)
{
	return (uint64_t)(uint32_t)epfd << 32 | epgen;
}

bool set_waiters_add(struct set_waiters *w, uint32_t cand)
{
	const struct ctp_cand *c = &w->r->cands[cand];
	if (GROW(w->sets, w->nsets, w->sets_room))
		return false;
	w->sets[w->nsets++] = (struct set_waiter){set_key(c->fd, c->gen), cand};
	return true;
}

static void add_referenced(struct set_waiters *w, uint64_t id, uint32_t cand)
{
	if (id && !GROW(w->referenced, w->nreferenced, w->referenced_room))
		w->referenced[w->nreferenced++] = (struct set_waiter){id, cand};
}

static int by_key(const void *a, const void *b)
{
	const struct set_waiter *x = a, *y = b;
	return x->key < y->key ? -1 : x->key > y->key;
}

// The first of those with this key; end: none.
static const struct set_waiter *first(const struct set_waiter *v, size_t n, uint64_t key)
{
	const struct set_waiter *lo = v, *end = v + n;
	while (lo < end) {
		const struct set_waiter *mid = lo + (end - lo) / 2;
		if (mid->key < key)
			lo = mid + 1;
		else
			end = mid;
	}
	return lo < v + n && lo->key == key ? lo : v + n;
}

#define EACH_WITH(at, v, n, k) \
	for (const struct set_waiter *at = first((v), (n), (k)); at < (v) + (n) && at->key == (k); at++)

void set_waiters_ready(struct set_waiters *w)
{
	struct ctp_walk all = ctp_walk_fds(w->r);
	if (w->nsets)
		qsort(w->sets, w->nsets, sizeof(*w->sets), by_key);
	for (uint64_t fd = w->nsets ? ctp_walk_from(&all, 0) : all.n; fd < all.n;
	     fd = ctp_walk_from(&all, fd + 1)) {
		struct ctp_fd f;
		if (w->r->fds[fd].reg_epfd < 0 || !inspect_fd(w->r, fd, &f) || f.life != CTP_FD_OPEN)
			continue;
		EACH_WITH(set, w->sets, w->nsets, set_key(f.reg_epfd, f.reg_epgen))
		{
			add_referenced(w, f.learned, set->cand);
			add_referenced(w, f.leads & CTP_ID_MASK, set->cand);
		}
	}
	if (w->nreferenced)
		qsort(w->referenced, w->nreferenced, sizeof(*w->referenced), by_key);
}

void set_waiters_deinit(struct set_waiters *w)
{
	free(w->sets);
	free(w->referenced);
	*w = (struct set_waiters){0};
}

void set_waiters_match(const struct set_waiters *w, const struct ctp_state *s,
		       void (*found)(void *ctx, uint32_t cand, int wait), void *ctx)
{
	uint32_t n = s->nwaits < CTP_WAITS ? s->nwaits : CTP_WAITS;
	for (uint32_t i = 0; w->nsets && i < n; i++) {
		const struct ctp_wait *wait = &s->waits[i];
		struct ctp_fd f;
		if (wait->fd < 0 || !inspect_fd(w->r, (uint64_t)wait->fd, &f) || f.life != CTP_FD_OPEN ||
		    f.gen != wait->gen)
			continue;
		uint64_t now = set_key(f.reg_epfd, f.reg_epgen), own = set_key(wait->epfd, wait->epgen);
		EACH_WITH(set, w->sets, w->nsets, now)
		found(ctx, set->cand, (int)i);
		if (!(wait->how & CTP_WAIT_REGISTERED) || own == now)
			continue;
		EACH_WITH(set, w->sets, w->nsets, own)
		found(ctx, set->cand, (int)i);
	}
	if (n || !w->nreferenced)
		return;
	EACH_WITH(at, w->referenced, w->nreferenced, s->id)
	found(ctx, at->cand, -1);
}

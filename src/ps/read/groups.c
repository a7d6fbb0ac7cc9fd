// SPDX-License-Identifier: MIT
//
// Groups are runs of one sorted array: equal coroutines become adjacent, the longest wait
// first, and the groups are sorted by their first member. Equal times are ordered by id, so
// that two runs on a program that does not change print the same list.
#include "ps/read/groups.h"

#include <errno.h>
#include <stdlib.h>

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int groups_rank(const struct coroutine *c)
{
	switch (c->life) {
	case CTP_SUSPENDED:
		return c->status; // 0 to 2
	case CTP_CREATED:
		return 3;
	case CTP_RUNNING:
		return 4;
	default:
		return 5;
	}
}

// 0 if both belong into one group. What runs has no stack: it stands alone.
static int by_kind(const struct coroutine *a, const struct coroutine *b)
{
	int r = order((uint64_t)groups_rank(a), (uint64_t)groups_rank(b));
	if (!r)
		r = order(a->entry, b->entry);
	if (!r && a->life == CTP_SUSPENDED)
		r = order(a->stack, b->stack);
	if (!r && a->life == CTP_CREATED)
		r = order(a->creator_stack, b->creator_stack);
	if (!r && (a->life == CTP_RUNNING || (a->life == CTP_SUSPENDED && !a->stack)))
		r = order(a->id, b->id);
	return r;
}

static int by_time(const struct coroutine *a, const struct coroutine *b)
{
	int r = order(b->since_ns, a->since_ns);
	return r ? r : order(a->id, b->id);
}

static int compare_kinds(const void *a, const void *b)
{
	int r = by_kind(a, b);
	return r ? r : by_time(a, b);
}

static int compare_groups(const void *a, const void *b)
{
	const struct coroutine *x = ((const struct group *)a)->first, *y = ((const struct group *)b)->first;
	int r = order((uint64_t)groups_rank(x), (uint64_t)groups_rank(y));
	return r ? r : by_time(x, y);
}

static size_t count_kinds(const struct coroutine *all, size_t n, bool apart)
{
	size_t kinds = 0;
	for (size_t i = 0; i < n; i++)
		kinds += apart || i == 0 || by_kind(&all[i - 1], &all[i]) != 0;
	return kinds;
}

int groups_make(struct groups *g, struct coroutine *all, size_t n, bool apart)
{
	if (n)
		qsort(all, n, sizeof(*all), compare_kinds);
	size_t kinds = count_kinds(all, n, apart), at = 0;
	struct group *v = calloc(kinds ? kinds : 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (apart || i == 0 || by_kind(&all[i - 1], &all[i]))
			v[at++] =
				(struct group){.first = &all[i], .stack = all[i].stack, .one_creator = true};
		v[at - 1].n++;
		v[at - 1].one_creator &= all[i].creator_stack == v[at - 1].first->creator_stack;
	}
	if (kinds)
		qsort(v, kinds, sizeof(*v), compare_groups);
	*g = (struct groups){v, kinds};
	return 0;
}

void groups_deinit(struct groups *g)
{
	free(g->v);
	*g = (struct groups){0};
}

// SPDX-License-Identifier: MIT
//
// As ps/model/status.c does for traced programs, but with the stacks of the suspended coroutines
// alone: a coroutine is idle if its frames are those in which its library runs one task after the
// other, while others of the same beginning stand deeper, in different tasks.
#include "ps/listing/pooled.h"

#include <errno.h>
#include <stdlib.h>

#include "ps/listing/listing.h"
#include "symbols/trampoline.h"

enum { STACKS_MOST = 1024 };

static int read_all(const struct listing *l, struct trampoline_stack *v, size_t n)
{
	int e = 0;
	for (size_t i = 0; !e && i < n; i++) {
		struct frames f = {0};
		e = listing_frames(l, (uint32_t)i + 1, &f);
		if (!e)
			e = trampoline_read(&v[i], &f);
		frames_deinit(&f);
	}
	return e;
}

static bool between(const struct trampoline_stack *v, size_t n, size_t mine, struct trampoline_stack *some)
{
	const struct trampoline_stack *s = &v[mine];
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		if (i != mine && v[i].n && v[i].known && trampoline_same(v[i].v[0], s->v[0]))
			some[k++] = v[i];
	size_t at = k ? trampoline_alike(s, some, k) : 0;
	for (size_t i = 0; at && i < k; i++)
		if (some[i].v[at - 1]->pc == s->v[at - 1]->pc)
			return false; // where the others run as well
	return at && trampoline_runs(some, k, at - 1) && trampoline_switches(s, at, some, k);
}

int pooled_decide(struct listing *l)
{
	size_t n = l->stacks.n < STACKS_MOST ? l->stacks.n : STACKS_MOST;
	struct trampoline_stack *v = calloc(n + 1, sizeof(*v)), *some = calloc(n + 1, sizeof(*some));
	bool *idle = calloc(n + 1, sizeof(*idle));
	int e = v && some && idle ? read_all(l, v, n) : -ENOMEM;
	for (size_t i = 0; !e && i < n; i++)
		idle[i] = v[i].n && v[i].known && between(v, n, i, some);
	for (size_t i = 0; !e && i < l->n; i++) {
		struct listing_row *r = &l->v[i];
		if (r->state == LISTING_SUSPENDED && !r->stackless && !r->nwaits && r->stack &&
		    r->stack <= n && idle[r->stack - 1])
			r->state = LISTING_POOLED;
	}
	for (size_t i = 0; v && i < n; i++)
		free(v[i].v);
	free(v);
	free(some);
	free(idle);
	return e;
}

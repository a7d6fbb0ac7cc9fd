// SPDX-License-Identifier: MIT
//
// A coroutine is known by its stack: the tables have its bounds, or if it was discovered without them, the
// place where it was left last.
#include "ps/read/known.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "ps/read/tables.h"
#include "search/mark/scan.h"

static int add_stacks(struct span_list *out, const struct found *f, const struct coroutine *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ctp_state s;
		uint64_t off = f->header.ext.states_off + (uint64_t)v[i].station * sizeof(s);
		if (v[i].lo < v[i].hi)
			span_add(out, v[i].lo, v[i].hi);
		else if (!source_read(&f->region, off, &s, sizeof(s)) && s.id == v[i].id)
			span_add(out, s.regs[CTP_REG_SP], s.regs[CTP_REG_SP] + 1);
	}
	return out->failed ? -ENOMEM : 0;
}

static int by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int add_tids(struct known *k, const struct tables *t)
{
	k->tids = calloc(t->nthreads + 1, sizeof(*k->tids));
	if (!k->tids)
		return -ENOMEM;
	for (size_t i = 0; i < t->nthreads; i++)
		if (t->threads[i].native) // it has switched
			k->tids[k->ntids++] = (int)t->threads[i].tid;
	qsort(k->tids, k->ntids, sizeof(*k->tids), by_number);
	return 0;
}

int known_read(struct known *k, const struct found *f)
{
	const struct ctp_ext *x = &f->header.ext;
	struct span_list list = {0};
	struct tables t = {0};
	*k = (struct known){.ours = {{x->region_base, x->region_base + x->region_bytes},
				     {x->areas_base, x->areas_base + x->areas_bytes},
				     {x->self_base, x->self_end}}};
	k->nours = spans_tidy(k->ours, 3);
	int e = tables_read(&t, f, true);
	if (e)
		return e;
	e = add_stacks(&list, f, t.coroutines, t.n);
	e = e ? e : add_stacks(&list, f, t.ended, t.nended);
	e = e ? e : add_tids(k, &t);
	tables_deinit(&t);
	k->stacks = list.v;
	k->nstacks = spans_tidy(list.v, list.n);
	if (e)
		known_deinit(k);
	return e;
}

void known_deinit(struct known *k)
{
	free(k->stacks);
	free(k->tids);
	*k = (struct known){0};
}

bool known_has(const struct known *k, uint64_t sp, int tid)
{
	size_t i = FIRST_NOT(k->ntids, m, k->tids[m] < tid);
	if (tid && i < k->ntids && k->tids[i] == tid)
		return true;
	return scan_find(k->stacks, k->nstacks, sp) < k->nstacks;
}

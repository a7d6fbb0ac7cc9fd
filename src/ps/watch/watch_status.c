// SPDX-License-Identifier: MIT
//
// As status.c does for the list, but for few coroutines at a time. Pooled follows from the
// stack, so one coroutine of each stack is examined. Ready follows from descriptors, of which
// there are many, so only the coroutines on the screen are examined.
#include "ps/watch/watch_status.h"

#include <errno.h>
#include <stdlib.h>

#include "base/idmap.h"
#include "ps/model/status.h"

enum { STACKS_MOST = 2048 }; // status.c looks at no more

static bool may_be_pooled(const struct watch_row *r)
{
	return r->there && !r->frame_state && r->c.life == CTP_SUSPENDED && !r->c.nwaits &&
	       !(r->c.flags & CTP_STATE_MOREWAITS);
}

// One of each stack; those first who may be pooled. *at: stacks to places.
static int one_of_each(const struct report *r, const struct watch_model *m, bool may, struct coroutine *v,
		       size_t *n, struct idmap *at)
{
	int e = 0;
	for (size_t i = 0; !e && i < m->n && *n < STACKS_MOST; i++) {
		const struct watch_row *row = &m->rows[i];
		if (!row->there || row->frame_state || !row->c.recorded || may_be_pooled(row) != may)
			continue;
		uint64_t key = row->c.recorded | (may ? 0 : 1ULL << 32); // one that waits, apart
		if (idmap_get(at, key) != IDMAP_NONE)
			continue;
		v[*n] = row->c;
		e = stacks_recorded(r->stacks, row->c.recorded, &v[*n].stack);
		if (!e)
			e = idmap_set(at, key, (uint32_t)*n);
		(*n)++;
	}
	return e;
}

int watch_status_pooled(const struct report *r, struct watch_model *m)
{
	struct report few = *r;
	struct idmap at = {0};
	few.tables.n = 0;
	few.tables.coroutines = calloc(STACKS_MOST, sizeof(*few.tables.coroutines));
	int e = few.tables.coroutines ? one_of_each(r, m, true, few.tables.coroutines, &few.tables.n, &at) :
					-ENOMEM;
	if (!e && few.tables.n)
		e = one_of_each(r, m, false, few.tables.coroutines, &few.tables.n, &at);
	if (!e && few.tables.n)
		e = status_decide(&few);
	for (size_t i = 0; !e && i < m->n; i++) {
		struct watch_row *row = &m->rows[i];
		uint32_t place = may_be_pooled(row) && row->c.recorded ? idmap_get(&at, row->c.recorded) :
									 IDMAP_NONE;
		row->c.status = place == IDMAP_NONE ? STATUS_WAITS : few.tables.coroutines[place].status;
	}
	free(few.tables.coroutines);
	idmap_deinit(&at);
	return e;
}

int watch_status_ready(const struct report *r, struct watch_row *const *rows, size_t n, bool *ready)
{
	struct report few = *r;
	struct tables now = {.coroutines = calloc(n ? n : 1, sizeof(*now.coroutines)), .n = n};
	int e = now.coroutines ? tables_read_threads(&now, r->found) : -ENOMEM;
	few.fds = NULL;
	if (!e)
		e = fds_new(&few.fds, r->found);
	for (size_t i = 0; !e && i < n; i++)
		if (!rows[i]->frame_state) // without a stack of the report's: nobody is taken to be pooled
			now.coroutines[i] = rows[i]->c;
	if (!e)
		e = fds_read(few.fds, now.coroutines, n, false);
	few.tables = now;
	if (!e)
		e = status_decide(&few);
	for (size_t i = 0; i < n; i++)
		ready[i] = !e && few.tables.coroutines[i].status == STATUS_READY;
	fds_free(few.fds);
	tables_deinit(&few.tables);
	return e;
}

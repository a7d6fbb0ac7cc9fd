// SPDX-License-Identifier: MIT
//
// A mark keeps the epoch and the waits entered by then. The turn that was under way at the mark does not
// count, so the fourth entry after it ends the third complete turn. A tenth of a second must have passed as
// well: a loop may empty its set by several waits within one turn of its own.
#include "engine/suspects/complete_turns.h"

#include <stdlib.h>
#include <string.h>

#include "ctp/ctp.h"
#include "ctp/seq.h"

enum { TURNS = 3 };
#define AT_LEAST_NS 100000000ULL

static bool make_room(struct complete_turns *c, uint32_t n)
{
	if (n <= c->n)
		return true;
	struct complete_turns_mark *more = realloc(c->v, n * sizeof(*more));
	if (!more)
		return false;
	memset(more + c->n, 0, (n - c->n) * sizeof(*more));
	c->v = more;
	c->n = n;
	return true;
}

static void note(struct complete_turns_mark *m, const struct ctp_thread *t, uint64_t epoch, uint64_t now_ns)
{
	uint64_t entered = ctp_load64(&t->polls) + ctp_load64(&t->sets);
	uint32_t uses = ctp_load32(&t->uses) + 1;
	if (m->uses != uses)
		*m = (struct complete_turns_mark){.uses = uses};
	else if (entered <= m->entered + TURNS || now_ns < m->ns + AT_LEAST_NS)
		return;
	else
		m->passed = m->epoch;
	m->epoch = epoch;
	m->entered = entered;
	m->ns = now_ns;
}

void complete_turns_note(struct complete_turns *c, const struct ctp_region *r, uint64_t now_ns)
{
	uint64_t epoch = ctp_load64(&r->ext->epoch); // before any thread's count
	uint32_t n = ctp_load32(&r->ext->thread_high);
	n = n > r->threads_max ? r->threads_max : n;
	if (!make_room(c, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (ctp_load32(&r->threads[i].life) == CTP_THREAD_LIVE)
			note(&c->v[i], &r->threads[i], epoch, now_ns);
}

void complete_turns_deinit(struct complete_turns *c)
{
	free(c->v);
	*c = (struct complete_turns){0};
}

bool complete_turns_made(const struct complete_turns *c, uint32_t slot, uint32_t uses, uint64_t epoch)
{
	return slot < c->n && c->v[slot].uses == uses + 1 && c->v[slot].passed && c->v[slot].passed >= epoch;
}

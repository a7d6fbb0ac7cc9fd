// SPDX-License-Identifier: MIT
//
// Who waits for a connection that has been readable for long, and was told of nothing, is in no finding, and
// not healthy (trace/unheard_waits.c). One fact for each place, the longest waits first.
#include "analyze/facts/unheard_waits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/place.h"
#include "base/grow.h"
#include "base/text.h"
#include "ctp/words.h"

enum { PLACES_SHOWN = 5 };

struct unheard { // at one stack
	const struct image *m;
	uint32_t stack;
	size_t n;
	uint64_t span_ns, ready_ns;
	int32_t lo, hi;
	int64_t bytes; // in each; -1: not the same
	uint8_t kind;
};

struct list {
	struct unheard *v;
	size_t n, room;
};

static struct unheard *at_stack(struct list *l, const struct image *m, uint32_t stack)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].m == m && l->v[i].stack == stack)
			return &l->v[i];
	if (GROW(l->v, l->n, l->room))
		return NULL;
	l->v[l->n] = (struct unheard){.m = m, .stack = stack, .lo = INT32_MAX, .hi = -1};
	return &l->v[l->n++];
}

static int note(struct list *l, const struct report *r, const struct image *m, const struct ctp_state *s)
{
	const struct world *w = r->world;
	const struct descriptor *d = image_unheard(m, &w->manifest, s);
	uint64_t end = m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns, since = world_ns(w, s->since);
	struct unheard *u = d ? at_stack(l, m, image_told_stack(m, s)) : NULL;
	if (!u)
		return d ? -ENOMEM : 0;
	int32_t fd = (int32_t)d->fd;
	u->bytes = u->n && u->bytes != d->unread ? -1 : d->unread;
	u->n++;
	u->kind = image_fd(m, fd)->kind;
	u->span_ns = end > since && end - since > u->span_ns ? end - since : u->span_ns;
	u->ready_ns = d->ns - d->ready_ns > u->ready_ns ? d->ns - d->ready_ns : u->ready_ns;
	u->lo = fd < u->lo ? fd : u->lo;
	u->hi = fd > u->hi ? fd : u->hi;
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct unheard *x = a, *y = b;
	return x->span_ns != y->span_ns ? (x->span_ns < y->span_ns) - (x->span_ns > y->span_ns) :
					  (x->stack > y->stack) - (x->stack < y->stack);
}

static int say(struct report *r, const struct unheard *u)
{
	char span[32], ready[32], place[PLACE_BYTES], more[24] = "", bytes[64] = "";
	text_duration(span, sizeof(span), u->span_ns);
	text_duration(ready, sizeof(ready), u->ready_ns);
	place_text(r, u->m, u->stack, PLACE_FRAMES, place, sizeof(place));
	if (u->hi > u->lo)
		snprintf(more, sizeof(more), " ... %d", u->hi);
	if (u->bytes > 0)
		snprintf(bytes, sizeof(bytes), " (%" PRId64 " byte%s unread%s)", u->bytes,
			 u->bytes == 1 ? "" : "s", u->n > 1 ? " each" : "");
	return results_fact(
		&r->results, "INFO", u->n,
		"%zu coroutine%s suspended for %s%s; fd %d%s (%s) could be read for %s at least%s, and no "
		"event told so: undecided",
		u->n, u->n == 1 ? " is" : "s are", span, place, u->lo, more, words_kind(u->kind), ready,
		bytes);
}

int unheard_waits_facts(struct report *r)
{
	struct list l = {0};
	int e = 0;
	for (size_t k = 0; !e && k < r->world->nimages; k++) {
		const struct image *m = &r->world->images[k];
		for (size_t i = 0; !e && m->has_tables && !m->replaced && i < m->stations.n; i++)
			if ((m->row_flags[i] & IMAGE_ROW_UNHEARD) && r->accounts[k][i] == ACCOUNT_UNDECIDED)
				e = note(&l, r, m, image_state(m, i));
	}
	if (!e && l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_age);
	for (size_t i = 0; !e && i < l.n && i < PLACES_SHOWN; i++)
		e = say(r, &l.v[i]);
	free(l.v);
	return e;
}

// SPDX-License-Identifier: MIT
//
// A coroutine whose wakeup was lost within the program is parked like all that wait for work. Nothing tells
// them apart where the program is quiet; so the report says where they stand, and for how long. Stacks that
// read alike are one place. Only so many stacks are read, the oldest waits first: there may be thousands.
#include "analyze/facts/parked_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/place.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "base/text.h"

#define LONG_NS 1000000000ULL
enum { STACKS_READ = 64, SHOWN = 3, FRAMES_SHOWN = 2 };

struct group { // of one stack
	const struct image *m;
	uint32_t stack;
	uint64_t longest_ns;
	size_t n;
	char *text; // of those that were read
};

struct groups {
	struct group *v;
	size_t n, room;
};

static int note(struct groups *g, struct idmap *by_stack, const struct image *m, uint32_t stack, uint64_t ns)
{
	uint32_t at = idmap_get(by_stack, stack);
	if (at == IDMAP_NONE) {
		at = (uint32_t)g->n;
		if (GROW(g->v, g->n, g->room) || idmap_set(by_stack, stack, at))
			return -ENOMEM;
		g->v[g->n++] = (struct group){.m = m, .stack = stack};
	}
	g->v[at].n++;
	g->v[at].longest_ns = ns > g->v[at].longest_ns ? ns : g->v[at].longest_ns;
	return 0;
}

static int gather(struct groups *g, const struct report *r, const struct image *m)
{
	const struct world *w = r->world;
	const unsigned char *accounts = r->accounts[m - w->images];
	uint64_t end = m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns;
	struct idmap by_stack = {0};
	int e = 0;
	for (size_t i = 0; !e && accounts && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		uint64_t since = accounts[i] == ACCOUNT_PARKED ? world_ns(w, s->since) : 0;
		if (since && s->runs && s->stack && end >= since + LONG_NS)
			e = note(g, &by_stack, m, image_told_stack(m, s), end - since);
	}
	idmap_deinit(&by_stack);
	return e;
}

static int by_age(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->longest_ns != y->longest_ns ?
		       (x->longest_ns < y->longest_ns) - (x->longest_ns > y->longest_ns) :
		       (x->stack > y->stack) - (x->stack < y->stack);
}

// Puts together what reads alike.
static int merge(struct report *r, struct groups *g)
{
	size_t kept = 0, n = g->n;
	char text[PLACE_BYTES];
	g->n = 0;
	for (size_t i = 0; i < n && i < STACKS_READ; i++) {
		struct group one = g->v[i];
		size_t k = 0;
		if (!place_text(r, one.m, one.stack, FRAMES_SHOWN, text, sizeof(text)))
			continue; // a library's: mostly it has ended
		while (k < kept && strcmp(g->v[k].text, text) != 0)
			k++;
		if (k < kept) {
			g->v[k].n += one.n;
		} else {
			if (!(one.text = strdup(text)))
				return -ENOMEM;
			g->v[kept++] = one;
			g->n = kept;
		}
	}
	return 0;
}

static void deinit(struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->v[i].text);
	free(g->v);
}

int parked_places_text(struct report *r, char *buf, size_t bytes)
{
	struct groups g = {0};
	size_t at = 0;
	int e = 0;
	*buf = 0;
	for (size_t i = 0; !e && r->accounts && i < r->world->nimages; i++)
		if (r->accounts[i])
			e = gather(&g, r, &r->world->images[i]);
	if (!e && g.n) {
		qsort(g.v, g.n, sizeof(*g.v), by_age);
		e = merge(r, &g);
	}
	for (size_t i = 0; !e && i < g.n && i < SHOWN && at < bytes; i++) {
		char span[32];
		text_duration(span, sizeof(span), g.v[i].longest_ns);
		at += (size_t)snprintf(buf + at, bytes - at, "%s %zu%s for %s", i ? "," : ";", g.v[i].n,
				       g.v[i].text, span);
	}
	deinit(&g);
	return e;
}

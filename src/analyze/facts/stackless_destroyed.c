// SPDX-License-Identifier: MIT
//
// To destroy a suspended coroutine is how a generator ends that was not run to its end, and how a task is
// cancelled. So it is a fact. Who did it is known of the first one of each place of creation.
#include "analyze/facts/stackless_destroyed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/case/stackless_case.h"
#include "analyze/report/frames.h"
#include "analyze/report/stackless_sums.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"
#include "symbols/demangle.h"

#define LONG_NS 10000000000ULL
enum { GROUPS_SHOWN = 5, NAME_BYTES = 160, PLACE_BYTES = 220 };

struct group {
	char name[NAME_BYTES], created[PLACE_BYTES], by[PLACE_BYTES];
	uint64_t count, longest_ns;
};

struct groups {
	struct group *v;
	size_t n, room;
};

// Who stands behind the coroutine's own code and the libraries'; that a destructor did it says little.
static const struct symbols_frame *who(const struct frames *f, const char *name)
{
	const struct symbols_frame *first = NULL;
	char its[NAME_BYTES];
	for (size_t i = 0; i < f->n; i++) {
		if (frames_is_library(f->items[i]) ||
		    !strcmp(frames_name(f->items[i], its, sizeof(its)), name))
			continue;
		first = first ? first : f->items[i];
		if (!strchr(its, '~'))
			return f->items[i];
	}
	return first;
}

static int place(struct report *r, const struct image *m, uint32_t stack, const char *name, char *out)
{
	struct frames f = {0};
	char its[NAME_BYTES];
	struct symbols *symbols = r->symbols[m - r->world->images];
	int e = symbols && stack ? frames_read(&f, symbols, m, stack) : 0;
	const struct symbols_frame *at = who(&f, name);
	*out = 0;
	if (at)
		snprintf(out, PLACE_BYTES, at->file ? "%s %s:%d" : "%s", frames_name(at, its, sizeof(its)),
			 at->file ? file_base(at->file) : "", at->line);
	frames_deinit(&f);
	return e;
}

static int add(struct report *r, const struct image *m, const struct stackless_destroyed *d, struct groups *g)
{
	struct group one = {.count = d->count};
	char *symbol = demangle(d->symbol);
	if (!symbol)
		return -ENOMEM;
	frames_name(&(struct symbols_frame){.symbol = symbol}, one.name, sizeof(one.name));
	free(symbol);
	int e = place(r, m, d->created_stack, one.name, one.created);
	e = e ? e : place(r, m, d->first_stack, one.name, one.by);
	if (e)
		return e;
	uint64_t first = world_ns(r->world, d->first), then = world_ns(r->world, d->first - d->longest);
	one.longest_ns = d->longest < d->first && first > then ? first - then : 0;
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->v[i].name, one.name) && !strcmp(g->v[i].created, one.created) &&
		    !strcmp(g->v[i].by, one.by)) {
			g->v[i].count += one.count;
			g->v[i].longest_ns = one.longest_ns > g->v[i].longest_ns ? one.longest_ns :
										   g->v[i].longest_ns;
			return 0;
		}
	e = GROW(g->v, g->n, g->room);
	if (!e)
		g->v[g->n++] = one;
	return e;
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->count != y->count ? (x->count < y->count) - (x->count > y->count) :
				      strcmp(x->name, y->name);
}

static int say(struct report *r, const struct group *g)
{
	char span[32], longest[64] = "";
	text_duration(span, sizeof(span), g->longest_ns);
	if (g->longest_ns >= LONG_NS)
		snprintf(longest, sizeof(longest), ", up to %s old", span);
	return results_fact(&r->results, "INFO", g->count, "%" PRIu64 " of these: %s%s%s%s%s%s", g->count,
			    g->name, *g->created ? ", created in " : "", g->created,
			    *g->by ? ", destroyed by " : "", g->by, longest);
}

int stackless_destroyed_facts(struct report *r)
{
	struct groups g = {0};
	uint64_t all = stackless_sums(r).destroyed;
	int e = 0;
	for (size_t i = 0; !e && i < r->world->nimages; i++) {
		const struct image *m = &r->world->images[i];
		for (size_t k = 0; !e && stackless_counts(m) && k < m->stackless.ndestroyed; k++)
			e = add(r, m, &m->stackless.destroyed[k], &g);
	}
	if (!e && all)
		e = results_fact(&r->results, "INFO", all,
				 "%" PRIu64 " C++20 coroutine%s destroyed while suspended", all,
				 all == 1 ? " was" : "s were");
	if (g.n)
		qsort(g.v, g.n, sizeof(*g.v), by_count);
	for (size_t i = 0; !e && i < g.n && i < GROUPS_SHOWN; i++)
		e = say(r, &g.v[i]);
	free(g.v);
	return e;
}

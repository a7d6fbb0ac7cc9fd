// SPDX-License-Identifier: MIT
//
// Counts come from copies of the tables' rows. A site is the return address of the switch, as module and
// offset: names would take debug information, which ctp-run does not read.
#include "engine/metrics/metrics_counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/inspect/inspect.h"
#include "engine/inspect/site.h"

const char *const metrics_verdicts[METRICS_VERDICTS] = {"proven", "likely", "suspect"};

enum { AHEAD = 8 }; // rows

struct place {
	uint32_t stack;
	uint64_t n;
};

struct scan {
	struct metrics_counts *c;
	const struct ctp_region *r;
	struct idmap by_stack;
	struct place *places;
	size_t nplaces, capacity;
	int error;
};

static int count_place(struct scan *s, uint32_t stack)
{
	uint32_t at = idmap_get(&s->by_stack, stack);
	if (at == IDMAP_NONE) {
		at = (uint32_t)s->nplaces;
		if (GROW(s->places, s->nplaces, s->capacity) || idmap_set(&s->by_stack, stack, at))
			return -ENOMEM;
		s->places[s->nplaces++] = (struct place){.stack = stack};
	}
	s->places[at].n++;
	return 0;
}

// What is counted of a station: one of its seven cache lines, and the wait if there is one.
struct glance {
	uint8_t life, entity, nwaits;
	uint32_t stack;
	struct ctp_wait wait;
};

static bool glance(const struct ctp_state *e, struct glance *out)
{
	for (int tries = 0; tries < 1000; tries++) {
		struct ctp_state turn = {.turn = ctp_state_seen(e)};
		if (turn.turn & 1)
			continue;
		*out = (struct glance){turn.life, e->entity, turn.nwaits, e->stack, {0}};
		if (turn.nwaits)
			out->wait = e->waits[0];
		if (!ctp_state_retry(e, turn.turn))
			return true;
	}
	return false;
}

static unsigned kind_of(const struct ctp_region *r, const struct glance *g)
{
	struct ctp_fd f;
	if (!g->nwaits || g->wait.fd < 0 || !inspect_fd(r, (uint64_t)g->wait.fd, &f) || f.gen != g->wait.gen)
		return METRICS_KINDS - 1;
	return f.kind < METRICS_KINDS - 1 ? f.kind : CTP_FD_OTHER;
}

static void count_states(struct scan *s)
{
	struct ctp_walk w = ctp_walk_states(s->r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n && !s->error; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *e = &s->r->states[i];
		struct glance g;
		__builtin_prefetch(&e[AHEAD].turn); // it was last read seconds ago
		if (!glance(e, &g) || g.entity != CTP_COROUTINE || g.life >= METRICS_STATES)
			continue;
		s->c->states[g.life]++;
		if (g.life != CTP_SUSPENDED)
			continue;
		s->c->kinds[kind_of(s->r, &g)]++;
		s->error = count_place(s, g.stack);
	}
}

// ----------------------------------------------------------------------- sites

static int by_number(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->n != y->n ? x->n < y->n ? 1 : -1 : (x->stack > y->stack) - (x->stack < y->stack);
}

// Puts one among those that have a name, if it is one of the most.
static void add_site(struct metrics_counts *c, const char *name, uint64_t n)
{
	for (unsigned i = 0; i < c->nsites; i++)
		if (!strcmp(c->sites[i].name, name)) {
			c->sites[i].n += n;
			return;
		}
	if (!*name || c->nsites == METRICS_SITES) {
		c->other_sites += n;
		return;
	}
	snprintf(c->sites[c->nsites].name, sizeof(c->sites->name), "%s", name);
	c->sites[c->nsites++].n = n;
}

static void add_sites(struct scan *s)
{
	char name[sizeof(s->c->sites->name)];
	uint64_t pc;
	if (s->nplaces)
		qsort(s->places, s->nplaces, sizeof(*s->places), by_number);
	for (size_t i = 0; i < s->nplaces; i++) {
		*name = 0;
		if (s->c->nsites < METRICS_SITES || i < METRICS_SITES)
			site_name(s->r, site_pcs(s->r, s->places[i].stack, &pc, 1) ? pc : 0, name,
				  sizeof(name));
		add_site(s->c, name, s->places[i].n);
	}
}

// -------------------------------------------------------------------- findings

// As far as the engine can tell: ctp-analyze has the last word, with the last tables.
static unsigned verdict_of(const struct suspect *s)
{
	bool waits = s->a[PROOF_P2].holds == HOLDS_TRUE, kernel = s->a[PROOF_P3].holds == HOLDS_TRUE;
	return s->proven ? 0 : waits && kernel ? 1 : 2;
}

static void count_suspect(void *arg, const struct suspect *s)
{
	struct metrics_counts *c = arg;
	if (s->rule < METRICS_RULES && !s->gone && s->inspections)
		c->findings[s->rule][verdict_of(s)]++;
}

int metrics_counts_add(struct metrics_counts *c, const struct ctp_region *r, const struct witness *witness)
{
	struct scan s = {.c = c, .r = r};
	count_states(&s);
	if (!s.error)
		add_sites(&s);
	idmap_deinit(&s.by_stack);
	free(s.places);
	if (witness)
		witness_each(witness, count_suspect, c);
	return s.error;
}

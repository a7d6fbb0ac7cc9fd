// SPDX-License-Identifier: MIT
//
// A coroutine may end by switching away for the last time, and be kept. The tables
// then show it as suspended, as CTP013 looks for. It is told from a leak by its
// stack: nothing was ever resumed where it is suspended, it has no known wait, and
// the program's own function has returned, so that only the library's first frame
// is left, further on than where the others of its kind run, and what it switches
// with. Functions are compared by name, or by where unwind tables say that they
// begin; without either nothing is removed. A last swapcontext in the very function
// that makecontext was given counts as an end as well.
#include "analyze/report/finished_parked.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/trampoline.h"

static int own_read(struct trampoline_stack *o, struct symbols *s, const struct image *m, uint32_t stack)
{
	struct frames f = {0};
	int e = frames_read(&f, s, m, stack);
	if (!e)
		e = trampoline_read(o, &f);
	frames_deinit(&f);
	return e;
}

// The stacks from which coroutines that began in the same function went on.
struct others {
	struct trampoline_stack *v;
	size_t n;
};

static void others_deinit(struct others *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->v[i].v);
	free(o->v);
}

static int others_read(struct others *o, struct symbols *s, const struct image *m,
		       const struct trampoline_stack *of)
{
	*o = (struct others){.v = calloc(m->sites.n + 1, sizeof(*o->v))};
	int e = o->v ? 0 : -ENOMEM;
	for (size_t i = 1; !e && i < m->sites.n; i++) {
		struct trampoline_stack *r = &o->v[o->n];
		if (!((const struct ctp_site *)table_row(&m->sites, i))->resumed)
			continue;
		e = own_read(r, s, m, (uint32_t)i);
		if (r->n && r->known && trampoline_same(r->v[0], of->v[0]))
			o->n++;
		else
			free(r->v);
	}
	return e;
}

static bool has_ended(const struct trampoline_stack *s, const struct others *o)
{
	size_t p = trampoline_alike(s, o->v, o->n);
	for (size_t i = 0; i < o->n; i++)
		if (s->v[p - 1]->pc == o->v[i].v[p - 1]->pc)
			return false; // where the others run as well
	return trampoline_runs(o->v, o->n, p - 1) || trampoline_switches(s, p, o->v, o->n);
}

static int decide(const struct report *r, const struct verdict_case *c, bool *ended)
{
	const struct image *m = c->about.image;
	const struct ctp_state *state = c->about.state;
	const struct ctp_site *at = state->stack < m->sites.n ? table_row(&m->sites, state->stack) : NULL;
	struct symbols *symbols = r->symbols[m - r->world->images];
	struct others o = {0};
	struct trampoline_stack s = {0};
	*ended = false;
	if (!at || at->resumed || image_nwaits(state) || (state->flags & CTP_STATE_MOREWAITS))
		return 0;
	int e = own_read(&s, symbols, m, state->stack);
	const struct symbols_frame *entry = report_entry(r, c);
	if (e || !s.n || !s.known || !entry || !(entry->symbol || entry->function) ||
	    !trampoline_same(s.v[0], entry)) {
		*ended = false; // not read up to its beginning, or without names
	} else if (s.n == 1) {
		*ended = true;
	} else {
		e = others_read(&o, symbols, m, &s);
		*ended = !e && o.n && has_ended(&s, &o);
		others_deinit(&o);
	}
	free(s.v);
	return e;
}

int finished_parked_remove(struct report *r)
{
	const struct image *image = NULL; // of the last one that was decided
	uint32_t stack = 0;
	size_t kept = 0, n = 0;
	bool ended = false;
	int e = 0;
	for (size_t i = 0; i < r->results.ncases && !e; i++) {
		const struct verdict_case *c = &r->results.cases[i];
		bool leak = !strcmp(c->pass->rule, rules_id[RULE_LEAK]);
		if (leak && !(image == c->about.image && stack == c->stack))
			e = decide(r, c, &ended);
		if (leak) {
			image = c->about.image;
			stack = c->stack;
		}
		if (leak && ended)
			n++;
		else
			r->results.cases[kept++] = *c;
	}
	r->results.ncases = kept;
	return e || !n ?
		       e :
		       results_fact(&r->results, rules_id[RULE_LEAK], n,
				    "%zu coroutines switched away for the last time, as far as can be told, "
				    "and are kept with their stacks, more and more of them",
				    n);
}

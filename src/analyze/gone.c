// SPDX-License-Identifier: MIT
//
// Coroutines that ended by a last switch away and were kept: to the tables they
// are suspended, as those are that CTP013 speaks of. They stand where nothing
// was ever resumed, wait for nothing that is known, and their stack shows that
// the program's own function is behind them: what lies on it is the frame in
// which all of their kind begin, further on than where the others run, and
// what they switch with. Functions are compared, so names must be known;
// without them nothing is taken back. A last swapcontext in the very function
// given to makecontext, with nothing else on the stack, counts as an end as well.
#include "analyze/gone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The program's own frames, outermost first.
struct own {
	const struct symbols_frame **v;
	size_t n;
	bool named; // all of them
};

static int own_read(struct own *o, struct symbols *s, const struct image *m, uint32_t stack)
{
	struct frames f = { 0 };
	int e = frames_read(&f, s, m, stack);
	*o = (struct own){ .v = calloc(f.n + 1, sizeof(*o->v)), .named = true };
	if (!e && !o->v)
		e = -ENOMEM;
	for (size_t i = f.n; !e && i-- > 0;) {
		if (frames_is_library(f.items[i]))
			continue;
		o->named &= f.items[i]->symbol != NULL;
		o->v[o->n++] = f.items[i];
	}
	frames_deinit(&f);
	return e;
}

static bool same_function(const struct symbols_frame *a, const struct symbols_frame *b)
{
	return !strcmp(a->symbol, b->symbol) && a->module && b->module && !strcmp(a->module, b->module);
}

// The stacks from which coroutines that began in the same function went on.
struct others {
	struct own *v;
	size_t n;
};

static void others_deinit(struct others *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->v[i].v);
	free(o->v);
}

static int others_read(struct others *o, struct symbols *s, const struct image *m, const struct own *of)
{
	*o = (struct others){ .v = calloc(m->sites.n + 1, sizeof(*o->v)) };
	int e = o->v ? 0 : -ENOMEM;
	for (size_t i = 1; !e && i < m->sites.n; i++) {
		struct own *r = &o->v[o->n];
		if (!((const struct ctp_site *)table_row(&m->sites, i))->resumed)
			continue;
		e = own_read(r, s, m, (uint32_t)i);
		if (r->n && r->named && same_function(r->v[0], of->v[0]))
			o->n++;
		else
			free(r->v);
	}
	return e;
}

// How many of the outermost functions it has in common with all of them.
static size_t begin_alike(const struct own *s, const struct others *o)
{
	size_t p = s->n;
	for (size_t i = 0; i < o->n; i++) {
		size_t k = 0;
		while (k < p && k < o->v[i].n && same_function(s->v[k], o->v[i].v[k]))
			k++;
		p = k;
	}
	return p;
}

// From one place there the others go to different functions: it is what runs them.
static bool runs_others(const struct others *o, size_t at)
{
	const struct symbols_frame *first = NULL;
	uint64_t pc = 0;
	for (size_t i = 0; i < o->n; i++) {
		const struct own *r = &o->v[i];
		if (r->n <= at + 1)
			continue;
		if (!first) {
			first = r->v[at + 1];
			pc = r->v[at]->pc;
		} else if (r->v[at]->pc == pc && !same_function(r->v[at + 1], first)) {
			return true;
		}
	}
	return false;
}

// Are the frames of `s` from `p` on those with which others switch, from deeper?
static bool only_switches(const struct own *s, size_t p, const struct others *o)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct own *r = &o->v[i];
		size_t k = 0;
		while (r->n > s->n && k < s->n - p && same_function(s->v[s->n - 1 - k], r->v[r->n - 1 - k]))
			k++;
		if (k == s->n - p && r->n > s->n)
			return true;
	}
	return false;
}

static bool has_ended(const struct own *s, const struct others *o)
{
	size_t p = begin_alike(s, o);
	for (size_t i = 0; i < o->n; i++)
		if (s->v[p - 1]->pc == o->v[i].v[p - 1]->pc)
			return false; // where the others run as well
	return runs_others(o, p - 1) || only_switches(s, p, o);
}

static int decide(const struct report *r, const struct verdict_case *c, bool *gone)
{
	const struct image *m = c->about.image;
	const struct ctp_state *state = c->about.state;
	const struct ctp_site *at = state->stack < m->sites.n ? table_row(&m->sites, state->stack) : NULL;
	struct symbols *symbols = r->symbols[m - r->world->images];
	struct others o = { 0 };
	struct own s = { 0 };
	*gone = false;
	if (!at || at->resumed || image_nwaits(state) || (state->flags & CTP_STATE_MOREWAITS))
		return 0;
	int e = own_read(&s, symbols, m, state->stack);
	const struct symbols_frame *entry = report_entry(r, c);
	if (e || !s.n || !s.named || !entry || !entry->symbol || !same_function(s.v[0], entry)) {
		*gone = false; // not read up to its beginning, or without names
	} else if (s.n == 1) {
		*gone = true;
	} else {
		e = others_read(&o, symbols, m, &s);
		*gone = !e && o.n && has_ended(&s, &o);
		others_deinit(&o);
	}
	free(s.v);
	return e;
}

int report_gone(struct report *r)
{
	const struct image *image = NULL; // of the last one that was decided
	uint32_t stack = 0;
	size_t kept = 0, n = 0;
	bool gone = false;
	int e = 0;
	for (size_t i = 0; i < r->found.ncases && !e; i++) {
		const struct verdict_case *c = &r->found.cases[i];
		bool leak = !strcmp(c->pass->rule, "CTP013");
		if (leak && !(image == c->about.image && stack == c->stack))
			e = decide(r, c, &gone);
		if (leak) {
			image = c->about.image;
			stack = c->stack;
		}
		if (leak && gone)
			n++;
		else
			r->found.cases[kept++] = *c;
	}
	r->found.ncases = kept;
	return e || !n ? e :
	       found_fact(&r->found, "CTP013", n, "%zu coroutines switched away for the last time, as far as can be told, "
			  "and are kept with their stacks, more and more of them", n);
}

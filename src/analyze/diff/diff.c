// SPDX-License-Identifier: MIT
//
// Places are matched by function names, as fingerprints are: no line, offset or id counts,
// so that a rebuilt program can be compared with its older build. If a side has no stacks or
// no history (JSON lines, a core file), what needs them is left out, and that is reported.
#include "analyze/diff/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"

enum { FRAMES_TOLD = 5 };

const char *const diff_times[PROFILE_COUNT] =
	{[PROFILE_SUSPENDED] = "wait", [PROFILE_RUNNING] = "slice", [PROFILE_LATENCY] = "latency"};

static uint64_t fnv(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return (h ^ '\n') * 0x100000001b3ULL;
}

// ------------------------------------------------------------------ findings

static int add_findings(struct diff *d, int side)
{
	struct report *r = &d->sides[side].report;
	int e = 0;
	for (size_t i = 0; !e && i < r->nfindings; i++) {
		struct finding *f = &r->findings[i];
		uint64_t key = fnv(f->fingerprint, f->pass->rule);
		uint32_t at = idmap_get(&d->by_finding, key);
		if (at == IDMAP_NONE) {
			at = (uint32_t)d->nfindings;
			e = GROW(d->findings, d->nfindings, d->findings_capacity);
			if (!e)
				e = idmap_set(&d->by_finding, key, at);
			if (e)
				return e;
			d->findings[d->nfindings++] = (struct diff_finding){.fingerprint = f->fingerprint};
		}
		struct diff_finding *to = &d->findings[at];
		f->known = side == DIFF_NEW && to->of[DIFF_OLD];
		to->n[side] += f->n;
		if (!to->of[side]) // they come strongest first
			to->of[side] = f;
	}
	return e;
}

const char *diff_word(const struct diff_finding *f)
{
	return !f->of[DIFF_OLD]                ? "new" :
	       !f->of[DIFF_NEW]                ? "vanished" :
	       f->n[DIFF_NEW] > f->n[DIFF_OLD] ? "grown" :
	       f->n[DIFF_NEW] < f->n[DIFF_OLD] ? "shrunk" :
						 "same";
}

// --------------------------------------------------------------------- sites

static void name_places(const struct frames *f, char *buf, size_t bytes)
{
	size_t at = 0, told = 0;
	char name[160];
	*buf = 0;
	for (int own = 1; own >= 0 && !told; own--) // the program's own; if there are none, any
		for (size_t i = 0; i < f->n && told < FRAMES_TOLD && at < bytes; i++) {
			const struct symbols_frame *e = f->items[i];
			if (own && frames_is_library(e))
				continue;
			at += (size_t)snprintf(buf + at, bytes - at, "%s%s", told++ ? " <- " : "",
					       frames_name(e, name, sizeof(name)));
			if (e->file && at < bytes)
				at += (size_t)snprintf(buf + at, bytes - at, " %s:%d", file_base(e->file),
						       e->line);
		}
	text_clean(buf);
}

static uint64_t key_of(const struct frames *f)
{
	uint64_t key = 0xcbf29ce484222325ULL;
	char offset[300];
	for (size_t i = 0; i < f->n; i++) {
		const struct symbols_frame *e = f->items[i];
		snprintf(offset, sizeof(offset), "%s+0x%" PRIx64, e->module ? file_base(e->module) : "?",
			 e->module ? e->offset : 0);
		key = fnv(key, e->symbol ? e->symbol : offset);
	}
	return key;
}

// The site of a stack, made if need be; NULL: it was not captured, or *e. `memo`: by image and stack.
static struct diff_site *site_of(struct diff *d, int side, const struct image *m, uint32_t stack,
				 struct idmap *memo, int *e)
{
	struct report *r = &d->sides[side].report;
	uint64_t key = (uint64_t)(m - r->world->images) << 32 | stack;
	uint32_t at = stack ? idmap_get(memo, key) : IDMAP_NONE;
	struct frames f = {0};
	char where[600];
	if (at != IDMAP_NONE || !stack)
		return stack ? &d->sites[at] : NULL;
	*e = frames_read(&f, r->symbols[m - r->world->images], m, stack);
	if (*e || !f.n)
		return NULL;
	uint64_t names = key_of(&f);
	at = idmap_get(&d->by_site, names);
	if (at == IDMAP_NONE) {
		at = (uint32_t)d->nsites;
		name_places(&f, where, sizeof(where));
		*e = GROW(d->sites, d->nsites, d->sites_capacity);
		if (!*e)
			*e = idmap_set(&d->by_site, names, at);
		if (!*e)
			d->sites[d->nsites++] = (struct diff_site){.key = names, .where = strdup(where)};
		if (!*e && !d->sites[at].where)
			*e = -ENOMEM;
	}
	frames_deinit(&f);
	if (!*e)
		*e = idmap_set(memo, key, at);
	return *e ? NULL : &d->sites[at];
}

static int add_suspended(struct diff *d, int side, struct idmap *memo)
{
	const struct world *w = d->sides[side].world;
	int e = 0;
	for (size_t i = 0; !e && i < w->nimages; i++) {
		const struct image *m = &w->images[i];
		for (size_t k = 0; !e && m->has_tables && !m->replaced && k < m->stations.n; k++) {
			const struct ctp_state *s = image_state(m, k);
			if (s->entity != CTP_COROUTINE || s->life != CTP_SUSPENDED)
				continue;
			struct diff_site *site = site_of(d, side, m, s->stack, memo, &e);
			if (site)
				site->suspended[side]++;
		}
	}
	return e;
}

static int add_times(struct diff *d, int side, struct idmap *memo)
{
	const struct profile *p = &d->sides[side].profile;
	int e = 0;
	for (size_t i = 0; !e && i < p->n; i++) {
		const struct profile_site *from = &p->sites[i];
		if (!from->image || from->native || from->part != PROFILE_STACK)
			continue;
		struct diff_site *site = site_of(d, side, from->image, from->stack, memo, &e);
		for (unsigned k = 0; site && k < PROFILE_COUNT; k++)
			if (from->times[k])
				diff_stats_add(&site->times[k][side], from->times[k]);
	}
	return e;
}

static int add_side(struct diff *d, int side, const struct report_settings *settings)
{
	struct diff_side *s = &d->sides[side];
	struct idmap memo = {0};
	const char *at;
	int e = report_make(&s->report, s->world, settings);
	if (!e)
		e = report_filter(&s->report, settings, &at);
	if (!e && s->world->form == WORLD_DIRECTORY) {
		e = profile_make(&s->profile, s->world, settings->symfs, false, NULL, PROFILE_WHOLE);
		s->has_times = !e;
	}
	s->lacks = s->world->form == WORLD_LINES ?
			   "JSON lines: no stacks and no descriptors, so only counts are compared" :
		   s->world->form == WORLD_CORE ?
			   "a core file: no history, so no times are compared" :
		   !s->world->has_last_tables ?
			   "without its last tables: no findings, and nobody is known to be suspended" :
			   NULL;
	if (!e)
		e = add_findings(d, side);
	if (!e)
		e = add_suspended(d, side, &memo);
	if (!e && s->has_times)
		e = add_times(d, side, &memo);
	idmap_deinit(&memo);
	return e;
}

static int by_word(const void *a, const void *b)
{
	static const char *const order[] = {"new", "grown", "vanished", "shrunk", "same"};
	const struct diff_finding *x = a, *y = b;
	unsigned i = 0, k = 0;
	while (strcmp(diff_word(x), order[i]))
		i++;
	while (strcmp(diff_word(y), order[k]))
		k++;
	if (i != k)
		return i < k ? -1 : 1;
	const struct finding *f = x->of[DIFF_NEW] ? x->of[DIFF_NEW] : x->of[DIFF_OLD],
			     *g = y->of[DIFF_NEW] ? y->of[DIFF_NEW] : y->of[DIFF_OLD];
	if (f->verdict != g->verdict)
		return f->verdict > g->verdict ? -1 : 1;
	return (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

int diff_make(struct diff *d, const struct world *old, const struct world *now,
	      const struct report_settings *settings, int *at)
{
	struct report_settings s = *settings;
	int e = 0;
	*d = (struct diff){.sides = {{.world = old}, {.world = now}}};
	s.baseline = NULL;
	for (*at = DIFF_OLD; !e && *at < DIFF_SIDES; ++*at)
		e = add_side(d, *at, &s);
	*at -= e != 0;
	if (!e && d->nfindings)
		qsort(d->findings, d->nfindings, sizeof(*d->findings), by_word);
	if (e)
		diff_deinit(d);
	return e;
}

void diff_deinit(struct diff *d)
{
	for (size_t i = 0; i < d->nsites; i++)
		free(d->sites[i].where);
	free(d->sites);
	free(d->findings);
	idmap_deinit(&d->by_finding);
	idmap_deinit(&d->by_site);
	for (int i = 0; i < DIFF_SIDES; i++) {
		profile_deinit(&d->sides[i].profile);
		if (d->sides[i].report.world)
			report_deinit(&d->sides[i].report);
	}
	*d = (struct diff){0};
}

// -------------------------------------------------------------------- shifts

static int by_size(const void *a, const void *b)
{
	const struct diff_shift *x = a, *y = b;
	double p = fabs(log(x->ratio)), q = fabs(log(y->ratio));
	if (x->weight != y->weight)
		return x->weight == PROFILE_RUNNING ||
				       (x->weight == PROFILE_LATENCY && y->weight == PROFILE_SUSPENDED) ?
			     -1 :
			     1;
	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(x->site->where, y->site->where);
}

int diff_shifts(const struct diff *d, struct diff_shift **out, size_t *n, size_t *few)
{
	struct diff_shift *v = calloc(d->nsites * PROFILE_COUNT + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	*n = *few = 0;
	for (size_t i = 0; i < d->nsites && d->sides[DIFF_OLD].has_times && d->sides[DIFF_NEW].has_times; i++)
		for (unsigned k = 0; k < PROFILE_COUNT; k++) {
			const struct profile_histogram *h = d->sites[i].times[k];
			struct diff_shift s = {.site = &d->sites[i], .weight = k};
			if (!h[DIFF_OLD].n && !h[DIFF_NEW].n)
				continue;
			s.change = diff_stats_compare(&h[DIFF_OLD], &h[DIFF_NEW], &s.ratio);
			*few += s.change == DIFF_FEW;
			if (s.change == DIFF_SLOWER || s.change == DIFF_FASTER)
				v[(*n)++] = s;
		}
	if (*n)
		qsort(v, *n, sizeof(*v), by_size);
	*out = v;
	return 0;
}

// SPDX-License-Identifier: MIT
//
// An inspection copies all stations once, in pieces, and those that have changed since the
// previous one a second time: as in tables.c, a row counts if both copies are equal. The
// region says how many stations there are, and our own bounds limit that.
#include "ps/watch/watch_inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 256 };

struct look {
	struct watch_model *m;
	const struct found *found;
	struct clock_pairs clock;
	struct ctp_state one[PIECE];
	struct ctp_state two[PIECE];
	uint64_t offs[PIECE];
	uint32_t places[PIECE];
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int take(struct look *l, size_t station, const struct ctp_state *one, const struct ctp_state *two)
{
	struct ctp_state again;
	bool settled = !(two->seq & 1) && !memcmp(one, two, sizeof(*one));
	if (!settled) {
		uint64_t off = l->found->header.ext.states_off + station * sizeof(again);
		int e = source_read_record(&l->found->region, off, &again, sizeof(again));
		if (e && e != SOURCE_UNSETTLED)
			return e;
		two = &again;
		settled = e == 0;
	}
	watch_model_take(l->m, station, two, two->since ? clock_to_ns(&l->clock, two->since) : 0, settled);
	return 0;
}

static int look_at(struct look *l, size_t first, size_t n)
{
	const struct source *from = &l->found->region;
	uint64_t off = l->found->header.ext.states_off + first * sizeof(*l->one);
	size_t changed = 0;
	int e = source_read(from, off, l->one, n * sizeof(*l->one));
	for (size_t i = 0; !e && i < n; i++) {
		if (watch_model_same(l->m, first + i, l->one[i].turn, l->one[i].id))
			continue;
		l->offs[changed] = off + i * sizeof(*l->one);
		l->places[changed++] = (uint32_t)i;
	}
	if (!e && changed)
		e = source_read_many(from, l->offs, changed, l->two, sizeof(*l->two));
	for (size_t i = 0; !e && i < changed; i++)
		e = take(l, first + l->places[i], &l->one[l->places[i]], &l->two[i]);
	return e;
}

static int names_room(struct watch_model *m)
{
	if (m->named >= m->n)
		return 0;
	struct ctp_name *v = reallocarray(m->names, m->capacity, sizeof(*v));
	if (!v)
		return -ENOMEM;
	memset(v + m->named, 0, (m->capacity - m->named) * sizeof(*v));
	m->names = v;
	m->named = m->capacity;
	return 0;
}

// Names that the program gave, of the pieces of which the map says that there are any. One that is being
// written is left for the next inspection.
static int read_names(struct watch_model *m, const struct found *f)
{
	uint64_t map[CTP_NAMES_MAP_BYTES / 8], off = f->header.ext.names_off;
	struct ctp_name some[CTP_NAMES_EACH];
	int e = off ? source_read(&f->region, off, map, sizeof(map)) : 0;
	for (uint64_t bit = 0; !e && off && bit * CTP_NAMES_EACH < m->n && bit < 8 * sizeof(map); bit++) {
		uint64_t first = bit * CTP_NAMES_EACH, n = least(CTP_NAMES_EACH, m->n - first);
		if (!(map[bit / 64] >> bit % 64 & 1))
			continue;
		e = names_room(m);
		if (!e)
			e = source_read(&f->region, off + sizeof(map) + first * sizeof(*some), some,
					n * sizeof(*some));
		for (uint64_t i = 0; !e && i < n; i++)
			if (!(some[i].seq & 1))
				m->names[first + i] = some[i];
	}
	return e;
}

int watch_inspect(struct watch_model *m, struct watch_threads *t, const struct found *f,
		  struct watch_totals *out)
{
	struct ctp_header h;
	const struct ctp_ext *x = &f->header.ext;
	int e = source_read(&f->region, 0, &h, sizeof(h));
	if (!e && (h.ext.magic != x->magic || h.ext.image != x->image ||
		   (x->attached_ns && h.ext.attached_ns != x->attached_ns)))
		e = -ESTALE; // another image's, at the same address
	if (!e)
		e = watch_threads_sample(t);
	if (!e)
		e = watch_model_begin(m, least(h.allocated_count, x->stations_max), clock_mono_ns());
	struct look *l = e ? NULL : malloc(sizeof(*l));
	if (e || !l)
		return e ? e : -ENOMEM;
	l->m = m;
	l->found = f;
	clock_adopt(&l->clock, x->clock_kind == CTP_CLOCK_TSC, x->clock_ticks0, x->clock_ns0);
	for (size_t at = 0; !e && at < m->n; at += PIECE)
		e = look_at(l, at, least(PIECE, m->n - at));
	free(l);
	if (!e)
		e = read_names(m, f);
	if (e)
		return e;
	watch_threads_totals(t, out);
	out->lost += h.ext.lost_unslotted;
	out->exit_begun = h.ext.exit_begun;
	out->signal_taken = h.ext.signal_taken;
	out->modules = h.ext.module_count;
	out->stacks = h.ext.stack_count;
	out->cands = h.ext.cand_count;
	size_t nran;
	const struct watch_ran *ran = watch_threads_take(t, &nran);
	watch_model_end(m, clock_mono_ns(), ran, nran, out->cpu_known);
	return 0;
}

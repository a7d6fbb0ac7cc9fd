// SPDX-License-Identifier: MIT
//
// The tables of a program that keeps running. Only rows in use are copied, in pieces; the
// region says how many are in use, and our own bounds limit that. Stations are copied twice,
// in large pieces: rows that are equal in both copies are taken, the others are read again one
// by one.
#include "ps/read/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/text.h"
#include "ctp/late.h"
#include "ctp/polled.h"
#include "ps/read/probes.h"

enum { PIECE = 256, THREADS_PIECE = 64 }; // rows

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t tables_age_ns(const struct tables *t, uint64_t ticks)
{
	uint64_t then = clock_to_ns(&t->clock, ticks);
	return ticks && t->clock.ns1 > then ? t->clock.ns1 - then : 0;
}

static struct coroutine *room(struct tables *t, bool ended)
{
	if (ended)
		return GROW(t->ended, t->nended, t->ended_capacity) ? NULL : &t->ended[t->nended++];
	return GROW(t->coroutines, t->n, t->capacity) ? NULL : &t->coroutines[t->n++];
}

static int take(struct tables *t, const struct ctp_state *s, uint32_t station, bool settled)
{
	bool ended = s->life == CTP_FINISHED || s->life == CTP_DESTROYED;
	if (s->owner != CTP_OWNER_GUEST || s->entity != CTP_COROUTINE)
		return 0;
	t->created += s->life == CTP_CREATED;
	t->suspended += s->life == CTP_SUSPENDED;
	t->running += s->life == CTP_RUNNING;
	if (ended ? !t->with_ended :
		    s->life != CTP_CREATED && s->life != CTP_SUSPENDED && s->life != CTP_RUNNING)
		return 0;
	struct coroutine *c = room(t, ended);
	if (!c)
		return -ENOMEM;
	*c = (struct coroutine){.id = s->id,
				.changes = s->changes,
				.entry = s->entry,
				.creator = s->creator,
				.station = station,
				.recorded = s->life == CTP_SUSPENDED ? s->stack : 0,
				.thread = s->thread,
				.creator_stack = s->creator_stack,
				.life = s->life,
				.flags = s->flags,
				.lo = s->lo,
				.hi = s->hi,
				.since = s->since,
				.created = s->created,
				.maker = (uint32_t)(s->made >> 48),
				.since_ns = tables_age_ns(t, s->since),
				.announced = s->source == CTP_SOURCE_PROGRAM,
				.before = ctp_state_is_from_before(s),
				.settled = settled};
	if (s->life == CTP_SUSPENDED)
		c->nwaits = (uint8_t)least(s->nwaits, CTP_WAITS);
	for (unsigned i = 0; i < c->nwaits; i++)
		c->waits[i] = (struct coroutine_wait){s->waits[i].fd, s->waits[i].gen, s->waits[i].events,
						      s->waits[i].how};
	t->unsettled += !settled;
	return 0;
}

// Which names were ever given; none in a region that has none.
static int read_map(uint64_t *map, const struct found *f)
{
	uint64_t off = f->header.ext.names_off;
	memset(map, 0, CTP_NAMES_MAP_BYTES);
	return off ? source_read(&f->region, off, map, CTP_NAMES_MAP_BYTES) : 0;
}

// The names of the coroutines from `at` on. Only what the map has a bit for is looked at: the rest
// would come into being by that.
static int take_names(struct tables *t, const struct found *f, size_t at, const uint64_t *map)
{
	int e = 0;
	for (; !e && at < t->n; at++) {
		struct coroutine *c = &t->coroutines[at];
		struct ctp_name name;
		uint64_t bit = c->station / CTP_NAMES_EACH;
		if (!(map[bit / 64] >> bit % 64 & 1))
			continue;
		e = source_read_record(
			&f->region, f->header.ext.names_off + CTP_NAMES_MAP_BYTES + c->station * sizeof(name),
			&name, sizeof(name));
		name.text[sizeof(name.text) - 1] = 0;
		if (!e && name.id == c->id && *name.text) {
			c->name = strdup(name.text);
			e = c->name ? 0 : -ENOMEM;
			text_clean(c->name ? c->name : name.text);
		}
		e = e == SOURCE_UNSETTLED ? 0 : e;
	}
	return e;
}

static int take_piece(struct tables *t, const struct found *f, const struct ctp_state *one,
		      const struct ctp_state *two, uint64_t first, uint64_t n)
{
	int e = 0;
	for (uint64_t i = 0; !e && i < n; i++) {
		const struct ctp_state *a = &one[i], *b = &two[i];
		struct ctp_state again;
		bool settled = !(b->seq & 1) && !memcmp(a, b, sizeof(*a));
		if (!settled) {
			uint64_t off = f->header.ext.states_off + (first + i) * sizeof(again);
			e = source_read_record(&f->region, off, &again, sizeof(again));
			b = &again;
			settled = e == 0;
			e = e == SOURCE_UNSETTLED ? 0 : e;
		}
		if (!e)
			e = take(t, b, (uint32_t)(first + i), settled);
	}
	return e;
}

static int read_stations(struct tables *t, const struct found *f)
{
	uint64_t n = least(f->header.allocated_count, f->header.ext.stations_max);
	struct ctp_state *two = malloc(2 * PIECE * sizeof(*two));
	uint64_t map[CTP_NAMES_MAP_BYTES / 8];
	int e = two ? read_map(map, f) : -ENOMEM;
	for (uint64_t at = 0; !e && at < n; at += PIECE) {
		size_t before = t->n;
		uint64_t rows = least(PIECE, n - at), off = f->header.ext.states_off + at * sizeof(*two);
		for (int i = 0; !e && i < 2; i++)
			e = source_read(&f->region, off, two + i * PIECE, rows * sizeof(*two));
		if (!e)
			e = take_piece(t, f, two, two + PIECE, at, rows);
		if (!e)
			e = take_names(t, f, before, map);
	}
	free(two);
	return e;
}

static int take_thread(struct tables *t, const struct ctp_thread *row, uint32_t slot)
{
	t->finished += row->finished;
	t->destroyed += row->destroyed;
	t->switches += row->switches;
	t->partial |= row->uses > 0;
	if (row->life != CTP_THREAD_LIVE)
		return 0;
	if (GROW(t->threads, t->nthreads, t->threads_capacity))
		return -ENOMEM;
	t->threads[t->nthreads++] = (struct tables_thread){
		.tid = row->tid,
		.slot = slot,
		.current = row->current,
		.native = row->native,
		.switches = row->switches,
		.waits = row->wait_seq & 1,
		.wait_call = row->wait_call,
		.wait_fd = row->wait_fd,
		.wait_seq = row->wait_seq,
		.wait_since = row->wait_since,
		.wait_timeout_ns = row->wait_timeout_ns,
		.wait_buf = row->wait_buf,
		.began = row->began,
		.flags = row->flags,
		.sets = row->sets != 0,
	};
	return 0;
}

int tables_read_threads(struct tables *t, const struct found *f)
{
	const struct ctp_ext *x = &f->header.ext;
	struct ctp_thread rows[THREADS_PIECE];
	uint64_t n = least(least(x->thread_high, x->threads_max), CTP_THREADS_MAX);
	int e = 0;
	for (uint64_t at = 0; !e && at < n; at += THREADS_PIECE) {
		uint64_t count = least(THREADS_PIECE, n - at);
		e = source_read(&f->region, x->threads_off + at * sizeof(*rows), rows, count * sizeof(*rows));
		for (uint64_t i = 0; !e && i < count; i++)
			e = take_thread(t, &rows[i], (uint32_t)(at + i));
	}
	// A coroutine may end on another thread than it began on, so that single counts go below zero.
	t->finished = t->finished > INT64_MAX ? 0 : t->finished;
	t->destroyed = t->destroyed > INT64_MAX ? 0 : t->destroyed;
	return e;
}

int tables_read_modules(struct tables *t, const struct found *f)
{
	const struct ctp_ext *x = &f->header.ext;
	uint64_t n = least(least(x->module_count, x->modules_max), CTP_MODULES_MAX);
	t->modules = calloc(n ? n : 1, sizeof(*t->modules));
	int e = t->modules ? source_read(&f->region, x->modules_off, t->modules, n * sizeof(*t->modules)) :
			     -ENOMEM;
	for (uint64_t i = 0; !e && i < n; i++) {
		struct ctp_module *m = &t->modules[i];
		m->path[sizeof(m->path) - 1] = 0;
		find_clean(m->path);
		if (m->build_id_len > sizeof(m->build_id))
			m->build_id_len = 0;
		if (m->ready && m->start < m->end)
			t->modules[t->nmodules++] = *m;
	}
	return e;
}

// From ticks to ns in a core: by the pair from the start, and the latest that there is.
static void adopt_core_clock(struct clock_pairs *c, const struct ctp_ext *x)
{
	bool noted = x->crash.ready == 1 && x->crash.time_ns;
	*c = (struct clock_pairs){.tsc = x->clock_kind == CTP_CLOCK_TSC,
				  .ticks0 = x->clock_ticks0,
				  .ns0 = x->clock_ns0,
				  .ticks1 = noted ? x->crash.time : x->clock_ticks1,
				  .ns1 = noted ? x->crash.time_ns : x->clock_ns1,
				  .ns_per_tick = 1.0};
	if (c->ticks1 > c->ticks0 && c->ns1 > c->ns0)
		c->ns_per_tick = (double)(c->ns1 - c->ns0) / (double)(c->ticks1 - c->ticks0);
	else
		c->tsc = false; // of no use as it is: nothing has an age then
}

// A core was made when the last thing that it tells of had happened.
static void end_at_core(struct tables *t, const struct ctp_ext *x)
{
	uint64_t last = x->crash.ready == 1 ? x->crash.time : 0;
	for (size_t i = 0; i < t->n; i++)
		last = t->coroutines[i].since > last ? t->coroutines[i].since : last;
	for (size_t i = 0; i < t->nthreads; i++)
		last = t->threads[i].wait_since > last ? t->threads[i].wait_since : last;
	uint64_t ns = clock_to_ns(&t->clock, last);
	t->clock.ticks1 = ns > t->clock.ns1 ? last : t->clock.ticks1;
	t->clock.ns1 = ns > t->clock.ns1 ? ns : t->clock.ns1;
	for (size_t i = 0; i < t->n; i++)
		t->coroutines[i].since_ns = tables_age_ns(t, t->coroutines[i].since);
	for (size_t i = 0; i < t->nended; i++)
		t->ended[i].since_ns = tables_age_ns(t, t->ended[i].since);
}

int tables_read(struct tables *t, const struct found *f, bool ended)
{
	const struct ctp_ext *x = &f->header.ext;
	struct tables got = {.with_ended = ended};
	if (f->core)
		adopt_core_clock(&got.clock, x);
	else
		clock_adopt(&got.clock, x->clock_kind == CTP_CLOCK_TSC, x->clock_ticks0, x->clock_ns0);
	int e = tables_read_threads(&got, f);
	if (!e)
		e = f->probes ? probes_read(&got, f) : read_stations(&got, f);
	if (!e)
		e = tables_read_modules(&got, f);
	if (!e && f->core)
		end_at_core(&got, x);
	if (e)
		tables_deinit(&got);
	else
		*t = got;
	return e;
}

void tables_deinit(struct tables *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->coroutines[i].name);
	free(t->coroutines);
	free(t->ended);
	free(t->threads);
	free(t->modules);
	*t = (struct tables){0};
}

const struct tables_thread *tables_thread(const struct tables *t, uint32_t slot)
{
	for (size_t i = 0; i < t->nthreads; i++)
		if (t->threads[i].slot == slot)
			return &t->threads[i];
	return NULL;
}

int tables_polled(const struct tables *t, const struct ctp_fd *f, uint32_t *tid)
{
	bool sits = false, maybe = false;
	if (tid)
		*tid = 0;
	if (!f->polled && !f->polled_out)
		return 0;
	for (size_t i = 0; i < t->nthreads; i++) {
		const struct tables_thread *th = &t->threads[i];
		const struct ctp_thread row = {.wait_seq = th->wait_seq,
					       .wait_call = th->wait_call,
					       .wait_since = th->wait_since,
					       .wait_timeout_ns = th->wait_timeout_ns,
					       .current = th->current,
					       .native = th->native,
					       .flags = th->flags};
		int has = th->sets ? ctp_polled_has(&row, f) : 0;
		if (has == 1 && tid)
			*tid = th->tid;
		if (has == 1)
			return 1;
		maybe |= has < 0;
		sits |= th->sets && ctp_loop_waits(&row);
	}
	return maybe || !sits ? -1 : 0;
}

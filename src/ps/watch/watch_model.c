// SPDX-License-Identifier: MIT
//
// Most coroutines wait: nothing about them changes from one inspection to the next, and their
// station's `turn` shows it. Only the others are copied again. A coroutine's number of changes
// never falls and an id is never reused, so the difference of two numbers is exact, whatever
// happened between two inspections.
#include "ps/watch/watch_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/text.h"

void watch_model_deinit(struct watch_model *m)
{
	free(m->rows);
	free(m->names);
	*m = (struct watch_model){0};
}

static int make_room(struct watch_model *m, size_t n)
{
	if (n <= m->capacity)
		return 0;
	size_t want = n + n / 2;
	struct watch_row *rows = reallocarray(m->rows, want, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	m->rows = rows;
	m->capacity = want;
	return 0;
}

int watch_model_begin(struct watch_model *m, size_t stations, uint64_t begun)
{
	int e = make_room(m, stations);
	if (e)
		return e;
	if (stations > m->stations) {
		memset(m->rows + m->stations, 0, (stations - m->stations) * sizeof(*m->rows));
		m->stations = stations;
	}
	m->n = m->stations;
	m->last = m->begun;
	m->begun = begun;
	m->unsettled = 0;
	return 0;
}

bool watch_model_same(struct watch_model *m, size_t station, uint64_t turn, uint64_t id)
{
	struct watch_row *r = &m->rows[station];
	bool same = r->there ? r->c.id == id && r->turn == turn && r->c.settled : !id || r->turn == turn;
	if (same && r->there) {
		r->known = true;
		r->before = r->c.changes;
	}
	return same;
}

static bool alive(const struct ctp_state *s)
{
	return s->owner == CTP_OWNER_GUEST && s->entity == CTP_COROUTINE && s->id &&
	       (s->life == CTP_CREATED || s->life == CTP_SUSPENDED || s->life == CTP_RUNNING);
}

void watch_model_take(struct watch_model *m, size_t station, const struct ctp_state *s, uint64_t since,
		      bool settled)
{
	struct watch_row *r = &m->rows[station], was = *r;
	if (!alive(s)) {
		// Who has ended will not change any more, until another comes to stand there.
		bool ended = settled && (s->life == CTP_FINISHED || s->life == CTP_DESTROYED);
		*r = (struct watch_row){.turn = ended ? s->turn : 0};
		return;
	}
	bool known = was.there && was.c.id == s->id;
	*r = (struct watch_row){.turn = s->turn,
				.since = since,
				.there = true,
				.known = known,
				.rate = -1,
				.cpu = -1,
				.before = known ? was.c.changes : 0,
				.slice_ns = known ? was.slice_ns : 0,
				.stack_bytes = known ? was.stack_bytes : -1};
	r->c = (struct coroutine){.id = s->id,
				  .changes = s->changes,
				  .entry = s->entry,
				  .creator = s->creator,
				  .station = (uint32_t)station,
				  .recorded = s->life == CTP_SUSPENDED ? s->stack : 0,
				  .thread = s->thread,
				  .creator_stack = s->creator_stack,
				  .life = s->life,
				  .flags = s->flags,
				  .announced = s->source == CTP_SOURCE_PROGRAM,
				  .lo = s->lo,
				  .hi = s->hi,
				  .since = s->since,
				  .settled = settled};
	// A coroutine with the stack of before keeps its status until that is examined again.
	r->c.status = known && was.c.recorded == r->c.recorded && s->life == CTP_SUSPENDED ? was.c.status :
											     STATUS_WAITS;
	r->stack = r->c.recorded ? r->c.recorded : known ? was.stack : 0;
	if (s->life == CTP_SUSPENDED)
		r->c.nwaits = s->nwaits < CTP_WAITS ? (uint8_t)s->nwaits : CTP_WAITS;
	for (unsigned i = 0; i < r->c.nwaits; i++)
		r->c.waits[i] = (struct coroutine_wait){s->waits[i].fd, s->waits[i].gen, s->waits[i].events,
							s->waits[i].how};
	m->unsettled += !settled;
}

int watch_model_add(struct watch_model *m, const struct watch_row *r)
{
	int e = make_room(m, m->n + 1);
	if (e)
		return e;
	m->rows[m->n++] = *r;
	m->count++;
	m->created += r->c.life == CTP_CREATED;
	m->suspended += r->c.life == CTP_SUSPENDED;
	m->running += r->c.life == CTP_RUNNING;
	m->closed += r->closed;
	return 0;
}

// A switch is two changes: one leaves, one goes on.
static void measure(const struct watch_model *m, struct watch_row *r, const struct watch_ran *ran, bool cpu)
{
	double seconds = m->last && m->begun > m->last ? (double)(m->begun - m->last) / 1e9 : 0;
	uint64_t more = r->c.changes > r->before ? r->c.changes - r->before : 0;
	uint64_t age = watch_model_age(m, r);
	r->rate = r->known && seconds > 0 ? (float)((double)more / 2 / seconds) : -1;
	r->cpu = cpu && seconds > 0 ? (float)(ran ? (double)ran->cpu_ns / 1e9 / seconds : 0) : -1;
	if (ran && ran->slice_ns > r->slice_ns)
		r->slice_ns = ran->slice_ns;
	if (r->c.life == CTP_RUNNING && r->c.settled && age > r->slice_ns)
		r->slice_ns = age;
}

void watch_model_end(struct watch_model *m, uint64_t now, const struct watch_ran *ran, size_t nran, bool cpu)
{
	struct idmap by_id = {0};
	for (size_t i = 0; i < nran; i++)
		if (idmap_set(&by_id, ran[i].id, (uint32_t)i))
			cpu = false; // without memory it is not known
	m->now = now;
	m->count = m->created = m->suspended = m->running = 0;
	for (size_t i = 0; i < m->n; i++) {
		struct watch_row *r = &m->rows[i];
		if (!r->there)
			continue;
		m->count++;
		m->created += r->c.life == CTP_CREATED;
		m->suspended += r->c.life == CTP_SUSPENDED;
		m->running += r->c.life == CTP_RUNNING;
		uint32_t at = nran && r->c.life != CTP_CREATED ? idmap_get(&by_id, r->c.id) : IDMAP_NONE;
		measure(m, r, at == IDMAP_NONE ? NULL : &ran[at], cpu);
	}
	idmap_deinit(&by_id);
}

const struct watch_row *watch_model_find(const struct watch_model *m, uint64_t id)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->rows[i].there && m->rows[i].c.id == id)
			return &m->rows[i];
	return NULL;
}

uint64_t watch_model_age(const struct watch_model *m, const struct watch_row *r)
{
	return r->since && m->now > r->since ? m->now - r->since : 0;
}

const char *watch_model_name(const struct watch_model *m, const struct watch_row *r, char buf[CTP_NAME_TEXT])
{
	const struct ctp_name *name = r->c.station < m->named ? &m->names[r->c.station] : NULL;
	*buf = 0;
	if (!name || name->id != r->c.id || !*name->text)
		return buf;
	memcpy(buf, name->text, CTP_NAME_TEXT);
	buf[CTP_NAME_TEXT - 1] = 0;
	text_clean(buf);
	return buf;
}

// SPDX-License-Identifier: MIT
//
// What goes on when the trace ends: waits and slices that no transition ends. The last tables tell of them;
// of a trace without tables, the walk's last state does.
#include "analyze/history/profile_own.h"

#include "ctp/polled.h"

static bool sleeps(const struct ctp_thread *t)
{
	return t->life == CTP_THREAD_LIVE && ctp_loop_waits(t);
}

// Those that sleep as of the snapshot.
void profile_turned_last(struct profile *p, const struct image *m)
{
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (sleeps(t))
			profile_turned(p, t->current, world_ns(p->world, t->wait_since));
	}
}

static const struct image *image_of(const struct profile *p, uint64_t id, const struct ctp_state **state)
{
	for (size_t i = p->world->nimages; i-- > 0;)
		if ((*state = image_entity(&p->world->images[i], id)))
			return &p->world->images[i];
	return NULL;
}

// The loop that took its event has taken others since, or slept: then it was none for which that one waits,
// or it is lost. That is no latency, and nothing tells the two apart here.
static bool turned_since(const struct profile *p, const struct ctp_merge_entity *e)
{
	uint32_t row = idmap_get(&p->loops, e->ready_by);
	return row == IDMAP_NONE || p->turns[row].turned_ns > e->ready_ns;
}

// Who is still there as of the last record: what the tables do not say.
void profile_left(void *arg, struct ctp_merge_entity *e)
{
	struct profile *p = arg;
	const struct ctp_state *state;
	const struct image *m = image_of(p, e->id, &state);
	uint64_t end = profile_until(p, m);
	if (!e->suspended && e->since_ns) {
		struct profile_loop *l = profile_loop_of(p, e->id);
		if (l) {
			l->slept_ns = e->mine;
			l->begun_ns = e->since_ns;
		}
	}
	if (e->native || !e->suspended || end == UINT64_MAX)
		return;
	struct profile_site s = profile_about(p, m, e, PROFILE_STACK, e->stack, e->addr);
	if (e->ready_ns && e->ready_ns < end && !turned_since(p, e))
		profile_add(p, &s, PROFILE_LATENCY, end - e->ready_ns);
	if (!m && e->since_ns && e->since_ns < end && !p->world->has_last_tables)
		profile_add_unended(p, &s, end - e->since_ns);
}

static const struct ctp_thread *thread_of(const struct image *m, const struct ctp_state *s)
{
	for (size_t i = 0; i < m->threads.n; i++)
		if (table_index(&m->threads, i) == s->thread)
			return table_row(&m->threads, i);
	return NULL;
}

// Runs, or sleeps in its loop, since it last went on. Where the history of that begins later, what it did
// before is lost.
static void still(struct profile *p, const struct image *m, const struct ctp_state *s, uint64_t since,
		  uint64_t end)
{
	struct ctp_merge_entity e = {.id = s->id, .native = s->entity == CTP_NATIVE, .entry = s->entry};
	struct profile_site runs = profile_about(p, m, &e, PROFILE_STILL, 0, 0),
			    idle = profile_about(p, m, &e, PROFILE_IDLE, 0, 0);
	struct profile_site lost = profile_about(p, m, &e, PROFILE_LOST, 0, 0);
	const struct ctp_thread *t = thread_of(m, s);
	if (!t || t->life != CTP_THREAD_LIVE || t->current != s->id)
		return;
	uint32_t row = idmap_get(&p->loops, s->id);
	struct profile_loop known = row == IDMAP_NONE ? (struct profile_loop){.begun_ns = UINT64_MAX} :
							p->turns[row];
	uint64_t until = sleeps(t) ? world_ns(p->world, t->wait_since) : end;
	until = until < since ? since : until > end ? end : until;
	uint64_t from = known.begun_ns >= since && known.begun_ns < until ?
				known.begun_ns :
				until; // until: switches of it are missing
	if (p->world->form != WORLD_DIRECTORY || known.begun_ns == since)
		from = since;
	uint64_t slept_ns = known.slept_ns < until - from ? known.slept_ns : until - from;
	if (from > since)
		profile_add(p, &lost, PROFILE_RUNNING, from - since);
	if (until - from > slept_ns)
		profile_add(p, &runs, PROFILE_RUNNING, until - from - slept_ns);
	if (end - until + slept_ns)
		profile_add(p, &idle, PROFILE_RUNNING, end - until + slept_ns);
}

void profile_at_the_end(struct profile *p, const struct image *m)
{
	uint64_t end = profile_until(p, m);
	for (size_t i = 0; !m->replaced && end != UINT64_MAX && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		uint64_t since = world_ns(p->world, s->since);
		if (!since || since >= end || idmap_get(&p->moved_after, s->id) != IDMAP_NONE)
			continue;
		if (s->life == CTP_RUNNING &&
		    p->world->form != WORLD_CORE) // there it is not known for how long others ran
			still(p, m, s, since, end);
		if (s->life != CTP_SUSPENDED || s->entity != CTP_COROUTINE)
			continue;
		struct ctp_merge_entity e = {.id = s->id, .entry = s->entry};
		struct profile_site is = profile_about(p, m, &e, PROFILE_STACK, s->stack, 0);
		profile_add_unended(p, &is, end - since);
	}
}

// Switches that the tables know of and the history does not.
void profile_count_lost(struct profile *p)
{
	uint64_t seen = p->world->kinds[CTP_EV_SWITCH] + p->world->kinds[CTP_EV_STATION] / 2,
		 all = p->world->counts.switches;
	struct profile_site s = {.part = PROFILE_LOST};
	if (p->world->form == WORLD_DIRECTORY && all > seen)
		profile_add(p, &s, PROFILE_COUNT, all - seen);
}

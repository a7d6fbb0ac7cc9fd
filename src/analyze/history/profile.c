// SPDX-License-Identifier: MIT
//
// Adds up the walk over all transitions. An interval belongs to the stack that ends a slice or
// begins a wait; if records were lost within it, it belongs to nobody and is shown as [lost].
// The tables say which coroutines wait or run at the end. All is counted up to their snapshot:
// a coroutine that is suspended in it would otherwise count twice.
#include "analyze/history/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "ctp/polled.h"
#include "trace/transitions.h"

const struct profile_unit profile_units[PROFILE_WEIGHTS] = {
	{"suspended", "nanoseconds", "time suspended"},
	{"running", "nanoseconds", "time running"},
	{"latency", "nanoseconds", "time from event to resume"},
	{"count", "count", "switches"},
};

unsigned profile_weight_find(const char *name)
{
	for (unsigned i = 0; i < PROFILE_WEIGHTS; i++)
		if (!strcmp(name, profile_units[i].name))
			return i;
	return UINT_MAX;
}

const struct profile_unit *profile_unit_of(const struct profile *p, unsigned weight)
{
	return p->event && weight == PROFILE_COUNT ? &p->event_unit : &profile_units[weight];
}

// ------------------------------------------------------------------- sites

#define ROW_BITS 24
#define ROW_MASK ((1u << ROW_BITS) - 1)

// A small number for an address: its row in the order in which they are met.
static uint32_t row_of(struct profile *p, struct idmap *m, uint64_t address)
{
	uint32_t row = idmap_get(m, address);
	if (row != IDMAP_NONE || m->n >= ROW_MASK)
		return row & ROW_MASK;
	row = (uint32_t)m->n;
	if (idmap_set(m, address, row))
		p->r = -ENOMEM;
	return row;
}

// The number of its name, from 1 on; 0: it has none.
static uint32_t name_number(struct profile *p, const struct profile_site *is)
{
	char name[CTP_NAME_TEXT];
	bool anew;
	if (!profile_name_of(is, name))
		return 0;
	uint32_t number = intern(&p->names, name, strlen(name), &anew);
	p->r = number ? p->r : -ENOMEM;
	return number;
}

// The site of what this one says, made if need be. NULL without memory.
static struct profile_site *site(struct profile *p, const struct profile_site *is)
{
	uint64_t image = is->image ? (uint64_t)(is->image - p->world->images) + 1 : 0;
	uint64_t place = is->image ? is->stack & ROW_MASK : row_of(p, &p->pcs, is->pc);
	uint64_t who = is->entry ^ name_number(p, is) * 0x9E3779B97F4A7C15ULL;
	uint64_t key = image << 52 | (uint64_t)is->part << 50 | (uint64_t)is->native << 49 |
		       (uint64_t)is->unended << 48 | (uint64_t)row_of(p, &p->entries, who) << ROW_BITS |
		       place;
	uint32_t row = idmap_get(&p->by_key, key);
	if (row == IDMAP_NONE) {
		row = (uint32_t)p->n;
		if (GROW(p->sites, p->n, p->capacity) || idmap_set(&p->by_key, key, row)) {
			p->r = -ENOMEM;
			return NULL;
		}
		p->sites[p->n++] = *is;
	}
	return &p->sites[row];
}

static void count_time(struct profile_histogram *h, uint64_t ns)
{
	unsigned bucket = ns > 1 ? 63 - (unsigned)__builtin_clzll(ns) : 0;
	h->buckets[bucket < PROFILE_BUCKETS ? bucket : PROFILE_BUCKETS - 1]++;
	h->least = h->n && h->least < ns ? h->least : ns;
	h->n++;
	h->sum += ns;
	h->most = ns > h->most ? ns : h->most;
}

static void add(struct profile *p, const struct profile_site *is, enum profile_weight weight, uint64_t n)
{
	if (is->part == PROFILE_IDLE && p->span == PROFILE_ENDED) {
		p->idle_ns += n;
		return;
	}
	struct profile_site *s = site(p, is);
	if (!s)
		return;
	s->weight[weight] += n;
	p->weight[weight] += n;
	if (weight == PROFILE_COUNT || s->part == PROFILE_LOST || s->part == PROFILE_IDLE)
		return;
	if (!s->times[weight] && !(s->times[weight] = calloc(1, sizeof(*s->times[weight])))) {
		p->r = -ENOMEM;
		return;
	}
	count_time(s->times[weight], n);
	if (!s->native)
		count_time(s->unended ? &p->all_unended : &p->all[weight], n);
}

// A wait that goes on at the snapshot. Such waits would outweigh all that ended.
static void add_unended(struct profile *p, const struct profile_site *is, uint64_t n)
{
	struct profile_site s = *is;
	s.unended = p->span == PROFILE_APART;
	p->unended_ns += n;
	p->unended++;
	if (p->span != PROFILE_ENDED)
		add(p, &s, PROFILE_SUSPENDED, n);
}

// ------------------------------------------------------------------- moves

// Up to when it counts.
static uint64_t end_of(const struct profile *p, const struct image *m)
{
	uint64_t ns = m && m->snapshot_ns ? m->snapshot_ns : p->world->snapshot_ns;
	return ns ? ns : UINT64_MAX;
}

static uint64_t passed(uint64_t from, uint64_t to, uint64_t end)
{
	to = to < end ? to : end;
	return to > from ? to - from : 0;
}

static struct profile_site about(const struct profile *p, const struct image *m,
				 const struct ctp_merge_entity *e, enum profile_part part, uint32_t stack,
				 uint64_t pc)
{
	uint64_t named = p->by_name && m && !e->native ? e->id : 0;
	return (struct profile_site){.image = m,
				     .part = part,
				     .native = e->native,
				     .entry = e->native ? 0 : e->entry,
				     .named = named,
				     .stack = part == PROFILE_STACK ? stack : 0,
				     .pc = part == PROFILE_STACK ? pc : 0};
}

// An end has no number of its own, which would tell whether moves before it were lost.
static bool unsure(const struct profile *p, const struct transition *m)
{
	return m->kind != CTP_EV_SWITCH && m->kind != CTP_EV_STATION &&
	       (p->world->lost > 0 || p->world->manifest.paused_records > 0);
}

// Since its last move records of it were lost.
static void lost(struct profile *p, const struct transition *m, const struct ctp_merge_entity *e,
		 uint64_t end)
{
	struct profile_site s = about(p, m->image, e, PROFILE_LOST, 0, 0);
	uint64_t ns = e->since_ns ? passed(e->since_ns, m->ns, end) : 0;
	if (!ns)
		return;
	add(p, &s, PROFILE_RUNNING, ns);
	if (!e->native)
		add(p, &s, PROFILE_SUSPENDED, ns);
}

// A slice has ended, by a switch or for good. `mine` is what of it the loop slept.
static void suspends(struct profile *p, const struct transition *m, uint64_t end)
{
	struct ctp_merge_entity *e = m->from;
	struct profile_site s = about(p, m->image, e, PROFILE_STACK, m->stack, m->pc);
	uint64_t ns = passed(e->since_ns, m->ns, end), slept = e->mine < ns ? e->mine : ns;
	e->mine = 0;
	if (m->ns <= end && m->kind != CTP_EV_FINISH && !p->event)
		add(p, &s, PROFILE_COUNT, 1);
	if (m->from_gap || unsure(p, m)) {
		lost(p, m, e, end);
	} else if (e->since_ns && !e->suspended && e->since_ns < end) {
		add(p, &s, PROFILE_RUNNING, ns - slept);
		s = about(p, m->image, e, PROFILE_IDLE, 0, 0);
		if (slept)
			add(p, &s, PROFILE_RUNNING, slept);
	}
}

// An event of the program's own: where who signals it was resumed is the nearest that is known.
static void signalled(struct profile *p, const struct transition *m)
{
	static const struct ctp_merge_entity thread = {.native = true};
	const struct ctp_merge_entity *e = m->from ? m->from : &thread;
	struct profile_site s =
		about(p, m->image, e, m->from ? PROFILE_STACK : PROFILE_STILL, e->stack, e->addr);
	if (m->event->class == p->event)
		add(p, &s, PROFILE_COUNT, 1);
}

// A wait has ended; also for good.
static void resumes(struct profile *p, const struct transition *m, const struct ctp_merge_entity *e, bool gap,
		    uint64_t end)
{
	struct profile_site s = about(p, m->image, e, PROFILE_STACK, e->stack, e->addr);
	if (gap) {
		lost(p, m, e, end);
		return;
	}
	if (!e->suspended || e->native || !e->since_ns || e->since_ns >= end)
		return;
	add(p, &s, PROFILE_SUSPENDED, passed(e->since_ns, m->ns, end));
	if (e->ready_ns && e->ready_ns < end)
		add(p, &s, PROFILE_LATENCY, passed(e->ready_ns, m->ns, end));
}

// What the tables say of it is not so any more, and has been counted here.
static void moved(struct profile *p, const struct ctp_merge_entity *e)
{
	if (e && idmap_set(&p->moved_after, e->id, 0))
		p->r = -ENOMEM;
}

// NULL without memory.
static struct profile_loop *loop_of(struct profile *p, uint64_t by)
{
	uint32_t row = idmap_get(&p->loops, by);
	if (row == IDMAP_NONE) {
		row = (uint32_t)p->loops.n;
		if (GROW(p->turns, p->loops.n, p->turns_capacity) || idmap_set(&p->loops, by, row)) {
			p->r = -ENOMEM;
			return NULL;
		}
		p->turns[row] = (struct profile_loop){.begun_ns = UINT64_MAX};
	}
	return &p->turns[row];
}

static void turned(struct profile *p, uint64_t by, uint64_t ns)
{
	struct profile_loop *l = loop_of(p, by);
	if (l && l->turned_ns < ns)
		l->turned_ns = ns;
}

// Of a loop that has not switched since the history begins, nothing but its sleeps may be known.
static void slept(struct profile *p, const struct transition *m, uint64_t end)
{
	uint64_t from = world_ns(p->world, m->merged->event.time - m->value),
		 since = m->from ? m->from->since_ns : 0;
	struct profile_loop *l = m->from ? NULL : loop_of(p, m->a);
	uint64_t ns = passed(from > since ? from : since, m->ns, end);
	if (m->from) {
		m->from->mine += ns;
	} else if (l) {
		l->slept_ns += ns;
		l->begun_ns = from < l->begun_ns ? from : l->begun_ns;
	}
}

static bool sleeps(const struct ctp_thread *t)
{
	return t->life == CTP_THREAD_LIVE && ctp_loop_waits(t);
}

// Those that sleep as of the snapshot.
static void turned_last(struct profile *p, const struct image *m)
{
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (sleeps(t))
			turned(p, t->current, world_ns(p->world, t->wait_since));
	}
}

static int take(void *arg, const struct transition *m)
{
	struct profile *p = arg;
	uint64_t end = end_of(p, m->image);
	switch (m->kind) {
	case CTP_EV_SWITCH:
	case CTP_EV_STATION:
		if (m->from)
			suspends(p, m, end);
		if (m->to)
			resumes(p, m, m->to, m->to_gap, end);
		break;
	case CTP_EV_FINISH:
		if (m->from)
			suspends(p, m, end);
		break;
	case CTP_EV_DESTROY:
		if (m->from)
			resumes(p, m, m->from, unsure(p, m), end);
		break;
	case CTP_EV_USER:
		signalled(p, m);
		return p->r;
	case CTP_EV_READY:
		turned(p, m->b, m->ns);
		return p->r;
	case CTP_EV_SLEPT:
		turned(p, m->a, m->ns);
		slept(p, m, end);
		return p->r;
	default:
		return p->r;
	}
	if (m->ns > end) {
		moved(p, m->from);
		moved(p, m->to);
	}
	return p->r;
}

// --------------------------------------------------------------- at the end

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
static void left(void *arg, struct ctp_merge_entity *e)
{
	struct profile *p = arg;
	const struct ctp_state *state;
	const struct image *m = image_of(p, e->id, &state);
	uint64_t end = end_of(p, m);
	if (!e->suspended && e->since_ns) {
		struct profile_loop *l = loop_of(p, e->id);
		if (l) {
			l->slept_ns = e->mine;
			l->begun_ns = e->since_ns;
		}
	}
	if (e->native || !e->suspended || end == UINT64_MAX)
		return;
	struct profile_site s = about(p, m, e, PROFILE_STACK, e->stack, e->addr);
	if (e->ready_ns && e->ready_ns < end && !turned_since(p, e))
		add(p, &s, PROFILE_LATENCY, end - e->ready_ns);
	if (!m && e->since_ns && e->since_ns < end && !p->world->has_last_tables)
		add_unended(p, &s, end - e->since_ns);
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
	struct profile_site runs = about(p, m, &e, PROFILE_STILL, 0, 0),
			    idle = about(p, m, &e, PROFILE_IDLE, 0, 0);
	struct profile_site lost = about(p, m, &e, PROFILE_LOST, 0, 0);
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
		add(p, &lost, PROFILE_RUNNING, from - since);
	if (until - from > slept_ns)
		add(p, &runs, PROFILE_RUNNING, until - from - slept_ns);
	if (end - until + slept_ns)
		add(p, &idle, PROFILE_RUNNING, end - until + slept_ns);
}

static void at_the_end(struct profile *p, const struct image *m)
{
	uint64_t end = end_of(p, m);
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
		struct profile_site is = about(p, m, &e, PROFILE_STACK, s->stack, 0);
		add_unended(p, &is, end - since);
	}
}

// Switches that the tables know of and the history does not.
static void count_lost(struct profile *p)
{
	uint64_t seen = p->world->kinds[CTP_EV_SWITCH] + p->world->kinds[CTP_EV_STATION] / 2,
		 all = p->world->counts.switches;
	struct profile_site s = {.part = PROFILE_LOST};
	if (p->world->form == WORLD_DIRECTORY && all > seen)
		add(p, &s, PROFILE_COUNT, all - seen);
}

int profile_make(struct profile *p, const struct world *w, const char *symfs, bool by_name, const char *event,
		 enum profile_span span)
{
	*p = (struct profile){.world = w, .symfs = symfs, .by_name = by_name};
	p->span = w->form == WORLD_CORE ? PROFILE_WHOLE : span;
	p->event = event ? program_classes_find(&w->program_events, event) : NULL;
	if (p->event)
		snprintf(p->event_name, sizeof(p->event_name), "%s", event);
	p->event_unit = (struct profile_unit){p->event_name, "count", p->event_name};
	p->symbols = calloc(w->nimages + 1, sizeof(*p->symbols));
	int r = p->symbols ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < w->nimages; i++)
		if (w->images[i].has_tables)
			turned_last(p, &w->images[i]);
	if (!r)
		r = transitions_walk_all(w, take, left, p);
	for (size_t i = 0; !r && i < w->nimages; i++)
		if (w->images[i].has_tables)
			at_the_end(p, &w->images[i]);
	if (!r && !p->event)
		count_lost(p);
	r = r ? r : p->r;
	if (r)
		profile_deinit(p);
	return r;
}

void profile_note(const struct profile *p, unsigned weight, char *buf, size_t bytes)
{
	bool all = weight == PROFILE_WEIGHTS, idle = p->idle_ns && (all || weight == PROFILE_RUNNING),
	     unended = p->unended && (all || weight == PROFILE_SUSPENDED);
	char slept[32], waited[32];
	*buf = 0;
	if (p->span != PROFILE_ENDED || (!idle && !unended))
		return;
	size_t at = (size_t)snprintf(buf, bytes, "left out: ");
	text_duration(slept, sizeof(slept), p->idle_ns);
	text_duration(waited, sizeof(waited), p->unended_ns);
	if (idle)
		at += (size_t)snprintf(buf + at, bytes - at, "%s in which loops slept", slept);
	if (unended)
		at += (size_t)snprintf(buf + at, bytes - at, "%s%" PRIu64 " wait%s that had not ended (%s)",
				       idle ? ", and " : "", p->unended, p->unended == 1 ? "" : "s", waited);
	snprintf(buf + at, bytes - at, "; --all-time includes %s", idle || p->unended > 1 ? "them" : "it");
}

void profile_deinit(struct profile *p)
{
	for (size_t i = 0; i < p->n; i++)
		for (unsigned k = 0; k < PROFILE_COUNT; k++)
			free(p->sites[i].times[k]);
	free(p->sites);
	for (size_t i = 0; p->symbols && i < p->world->nimages; i++)
		symbols_free(p->symbols[i]);
	free(p->symbols);
	intern_deinit(&p->names);
	idmap_deinit(&p->by_key);
	idmap_deinit(&p->entries);
	idmap_deinit(&p->pcs);
	idmap_deinit(&p->moved_after);
	idmap_deinit(&p->loops);
	free(p->turns);
	*p = (struct profile){0};
}

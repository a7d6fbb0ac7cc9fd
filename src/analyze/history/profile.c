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

#include "analyze/history/profile_own.h"
#include "base/grow.h"
#include "base/text.h"
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

void profile_add(struct profile *p, const struct profile_site *is, enum profile_weight weight, uint64_t n)
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
void profile_add_unended(struct profile *p, const struct profile_site *is, uint64_t n)
{
	struct profile_site s = *is;
	s.unended = p->span == PROFILE_APART;
	p->unended_ns += n;
	p->unended++;
	if (p->span != PROFILE_ENDED)
		profile_add(p, &s, PROFILE_SUSPENDED, n);
}

// Up to when it counts.
uint64_t profile_until(const struct profile *p, const struct image *m)
{
	uint64_t ns = m && m->snapshot_ns ? m->snapshot_ns : p->world->snapshot_ns;
	return ns ? ns : UINT64_MAX;
}

uint64_t profile_passed(uint64_t from, uint64_t to, uint64_t end)
{
	to = to < end ? to : end;
	return to > from ? to - from : 0;
}

struct profile_site profile_about(const struct profile *p, const struct image *m,
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

// NULL without memory.
struct profile_loop *profile_loop_of(struct profile *p, uint64_t by)
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

// --------------------------------------------------------------- as a whole

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
			profile_turned_last(p, &w->images[i]);
	if (!r)
		r = transitions_walk_all(w, profile_take, profile_left, p);
	for (size_t i = 0; !r && i < w->nimages; i++)
		if (w->images[i].has_tables)
			profile_at_the_end(p, &w->images[i]);
	if (!r && !p->event)
		profile_count_lost(p);
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

// SPDX-License-Identifier: MIT
//
// The walk over the history: rows of switches, waits, slices and events, and what each coroutine and
// each place did in all. Where records were lost, an interval belongs to nobody and has no row.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/export/source.h"
#include "base/grow.h"
#include "ctp/words.h"
#include "trace/transitions.h"

#define WORD(s) s, sizeof(s) - 1

struct walking {
	struct source *s;
	const struct image *image; // of the last transition: whose stacks are those left at the end
	int r;
};

static bool puts_rows(const struct source *s, enum schema_table_id id)
{
	return s->putting >> id & 1;
}

// ------------------------------------------------------------- what is counted

const char *const source_measures[SOURCE_MEASURES] = {"wait", "latency", "slice"};

unsigned source_bucket(uint64_t v)
{
	if (v <= 4)
		return v ? (unsigned)v : 1;
	uint64_t w = v - 1;
	unsigned e = 63 - (unsigned)__builtin_clzll(w);
	return 5 + (e - 2) * 4 + (unsigned)(w >> (e - 2) & 3);
}

uint64_t source_bucket_le(unsigned bucket)
{
	return bucket < 5 ? bucket : (uint64_t)(4 + (bucket - 5) % 4 + 1) << (bucket - 5) / 4;
}

static uint64_t key_of(const struct image *m, uint32_t stack, enum source_measure what)
{
	return (uint64_t)m->index << 34 | (uint64_t)stack << 10 | (uint64_t)what << 8;
}

static int count_bucket(struct source *s, uint64_t key)
{
	uint32_t at = idmap_get(&s->bucket_of, key);
	if (at == IDMAP_NONE) {
		at = (uint32_t)s->nbuckets;
		if (GROW(s->buckets, s->nbuckets, s->buckets_capacity) || idmap_set(&s->bucket_of, key, at))
			return -ENOMEM;
		s->buckets[s->nbuckets++] = (struct source_bucket){.key = key};
	}
	s->buckets[at].n++;
	return 0;
}

int source_measured(struct source *s, const struct image *m, uint32_t stack, enum source_measure what,
		    uint64_t ns)
{
	if (!m || !stack)
		return 0;
	uint64_t key = key_of(m, stack, what);
	uint32_t at = idmap_get(&s->sum_of, key);
	if (at == IDMAP_NONE) {
		at = (uint32_t)s->nsums;
		if (GROW(s->sums, s->nsums, s->sums_capacity) || idmap_set(&s->sum_of, key, at))
			return -ENOMEM;
		s->sums[s->nsums++] = (struct source_sum){.key = key};
	}
	struct source_sum *sum = &s->sums[at];
	sum->n++;
	sum->sum += ns;
	sum->max = ns > sum->max ? ns : sum->max;
	return count_bucket(s, key | source_bucket(ns));
}

// Who it is, a new one if need be; NULL: no memory.
static struct source_entity *entity_of(struct source *s, const struct transition *m,
				       struct ctp_merge_entity *e)
{
	if (!e->mine) {
		uint32_t at = idmap_get(&s->by_id, e->id);
		if (at == IDMAP_NONE) {
			at = (uint32_t)s->nentities;
			if (GROW(s->entities, s->nentities, s->entities_capacity) ||
			    idmap_set(&s->by_id, e->id, at))
				return NULL;
			s->entities[s->nentities++] = (struct source_entity){.id = e->id,
									     .image = m->image,
									     .entry = e->entry,
									     .native = e->native,
									     .life = CTP_RUNNING};
		}
		e->mine = (uint64_t)at + 1;
	}
	return &s->entities[e->mine - 1];
}

// ---------------------------------------------------------------------- rows

static void put_how(struct source *s, const struct transition *m)
{
	static const struct {
		const char *word;
		size_t n;
	} words[] = {
		[CTP_HOW_NONE] = {WORD("unknown")},      [CTP_HOW_SWAP] = {WORD("swap")},
		[CTP_HOW_SET] = {WORD("set")},           [CTP_HOW_GONE] = {WORD("gone")},
		[CTP_HOW_RETURN] = {WORD("return")},     [CTP_HOW_JUMP] = {WORD("jump")},
		[CTP_HOW_FCONTEXT] = {WORD("fcontext")}, [CTP_HOW_ONTOP] = {WORD("ontop")},
	};
	size_t how = m->how < sizeof(words) / sizeof(*words) ? m->how : 0;
	if (m->kind == CTP_EV_STATION)
		row_word(&s->row, WORD("station"));
	else
		row_word(&s->row, words[how].word, words[how].n);
}

// A stack of a record: whoever wrote it had captured it.
static void put_stack(struct source *s, const struct transition *m, uint32_t stack)
{
	if (m->image && stack)
		row_int(&s->row, source_stack_id(m->image, stack));
	else
		row_null(&s->row);
}

static int put_switch(struct source *s, const struct transition *m)
{
	source_row(s, SCHEMA_SWITCHES);
	row_count(&s->row, ++s->seq[SCHEMA_SWITCHES]);
	row_int(&s->row, (int64_t)(m->ns - s->world->start_ns));
	row_count(&s->row, m->tid);
	row_some(&s->row, m->from ? m->from->id : 0);
	row_some(&s->row, m->from ? m->from_n : 0);
	row_some(&s->row, m->to ? m->to->id : 0);
	row_some(&s->row, m->to ? m->to_n : 0);
	put_how(s, m);
	put_stack(s, m, m->stack);
	return source_done(s);
}

static int put_wait(struct source *s, const struct image *image, const struct ctp_merge_entity *e,
		    uint64_t ended)
{
	source_row(s, SCHEMA_WAITS);
	row_count(&s->row, ++s->seq[SCHEMA_WAITS]);
	row_count(&s->row, e->id);
	source_time(s, e->since_ns);
	source_time(s, ended);
	if (ended)
		row_count(&s->row, ended > e->since_ns ? ended - e->since_ns : 0);
	else
		row_null(&s->row);
	if (image && e->stack)
		row_int(&s->row, source_stack_id(image, e->stack));
	else
		row_null(&s->row);
	if (e->ready_ns) {
		row_int(&s->row, (int32_t)e->ready_fd);
		row_some(&s->row, e->ready_fd >> 32);
	} else {
		row_null(&s->row);
		row_null(&s->row);
	}
	source_time(s, e->ready_ns);
	if (e->ready_ns && ended)
		row_count(&s->row, ended > e->ready_ns ? ended - e->ready_ns : 0);
	else
		row_null(&s->row);
	return source_done(s);
}

static int put_slice(struct source *s, const struct transition *m, const struct ctp_merge_entity *e)
{
	source_row(s, SCHEMA_SLICES);
	row_count(&s->row, ++s->seq[SCHEMA_SLICES]);
	row_count(&s->row, e->id);
	row_count(&s->row, m->tid);
	source_time(s, e->since_ns);
	source_time(s, m->ns);
	row_count(&s->row, m->ns > e->since_ns ? m->ns - e->since_ns : 0);
	put_stack(s, m, m->stack);
	return source_done(s);
}

static void put_value(struct source *s, const struct transition *m)
{
	uint64_t clock_0 = world_ns(s->world, 1000000000),
		 clock_1 = world_ns(s->world, 1000000000 + m->value);
	switch (m->kind) {
	case CTP_EV_EXIT:
	case CTP_EV_SIGNAL:
		row_int(&s->row, (int32_t)m->value);
		break;
	case CTP_EV_THREAD:
		row_count(&s->row, m->value);
		break;
	case CTP_EV_SLEPT:
		row_count(&s->row, clock_1 - clock_0);
		break;
	default:
		row_null(&s->row);
	}
}

static int put_event(struct source *s, const struct transition *m)
{
	static const char *const kinds[] = {
		[CTP_EV_CREATE] = "create",   [CTP_EV_FINISH] = "finish",     [CTP_EV_DESTROY] = "destroy",
		[CTP_EV_FD_OPEN] = "fd_open", [CTP_EV_FD_CLOSE] = "fd_close", [CTP_EV_THREAD] = "thread",
		[CTP_EV_EXIT] = "exit",       [CTP_EV_SIGNAL] = "signal",     [CTP_EV_READY] = "ready",
		[CTP_EV_SLEPT] = "slept"};
	char number[16];
	const char *kind = m->kind < sizeof(kinds) / sizeof(*kinds) ? kinds[m->kind] : NULL;
	bool fd = m->kind == CTP_EV_FD_OPEN || m->kind == CTP_EV_FD_CLOSE || m->kind == CTP_EV_READY;
	bool other = m->kind == CTP_EV_CREATE || m->kind == CTP_EV_DESTROY || m->kind == CTP_EV_READY;
	snprintf(number, sizeof(number), "%u", m->kind);
	source_row(s, SCHEMA_EVENTS);
	row_count(&s->row, ++s->seq[SCHEMA_EVENTS]);
	row_int(&s->row, (int64_t)(m->ns - s->world->start_ns));
	row_count(&s->row, m->tid);
	row_text(&s->row, kind ? kind : number);
	row_some(&s->row, kind ? m->a : 0);
	row_some(&s->row, other ? m->b : 0);
	row_text(&s->row, fd && m->kind != CTP_EV_READY ? words_call(m->how) : NULL);
	if (fd) {
		row_int(&s->row, (int32_t)m->value);
		row_some(&s->row, m->value >> 32);
	} else {
		row_null(&s->row);
		row_null(&s->row);
	}
	put_value(s, m);
	put_stack(s, m, m->stack);
	return source_done(s);
}

// --------------------------------------------------------------------- the walk

static uint64_t worse(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool for_good(const struct transition *m)
{
	return m->how == CTP_HOW_GONE || m->how == CTP_HOW_RETURN;
}

static int count_leave(struct source *s, const struct transition *m, bool known, uint64_t ns)
{
	struct source_entity *c = entity_of(s, m, m->from);
	if (!c)
		return -ENOMEM;
	c->changes = worse(c->changes, m->from_n);
	c->since_ns = m->ns;
	c->stack = m->stack;
	c->life = for_good(m) ? CTP_FINISHED : CTP_SUSPENDED;
	c->ended_ns = for_good(m) ? m->ns : 0;
	if (!known)
		return 0;
	c->ran_ns += ns;
	c->longest_slice_ns = worse(c->longest_slice_ns, ns);
	return m->from->native ? 0 : source_measured(s, m->image, m->stack, SOURCE_SLICE, ns);
}

static int leaves(struct source *s, const struct transition *m)
{
	struct ctp_merge_entity *e = m->from;
	bool known = !e->suspended && !m->from_gap && e->since_ns;
	uint64_t ns = known && m->ns > e->since_ns ? m->ns - e->since_ns : 0;
	int r = s->counting ? count_leave(s, m, known, ns) : 0;
	if (!r && known && !e->native && puts_rows(s, SCHEMA_SLICES))
		r = put_slice(s, m, e);
	return r;
}

static int count_resume(struct source *s, const struct transition *m, bool known, uint64_t ns)
{
	const struct ctp_merge_entity *e = m->to;
	struct source_entity *c = entity_of(s, m, m->to);
	if (!c)
		return -ENOMEM;
	c->changes = worse(c->changes, m->to_n);
	c->since_ns = m->ns;
	c->life = CTP_RUNNING;
	if (!known)
		return 0;
	c->waited_ns += ns;
	c->longest_wait_ns = worse(c->longest_wait_ns, ns);
	if (e->native)
		return 0;
	int r = source_measured(s, m->image, e->stack, SOURCE_WAIT, ns);
	if (!r && e->ready_ns)
		r = source_measured(s, m->image, e->stack, SOURCE_LATENCY,
				    m->ns > e->ready_ns ? m->ns - e->ready_ns : 0);
	return r;
}

static int resumes(struct source *s, const struct transition *m)
{
	struct ctp_merge_entity *e = m->to;
	bool known = e->suspended && !m->to_gap && e->since_ns;
	uint64_t ns = known && m->ns > e->since_ns ? m->ns - e->since_ns : 0;
	int r = s->counting ? count_resume(s, m, known, ns) : 0;
	if (!r && known && !e->native && puts_rows(s, SCHEMA_WAITS))
		r = put_wait(s, m->image, e, m->ns);
	return r;
}

static int count_other(struct source *s, const struct transition *m)
{
	struct source_entity *c;
	bool ends = m->kind == CTP_EV_FINISH || m->kind == CTP_EV_DESTROY;
	if (!m->from || (m->kind != CTP_EV_CREATE && m->kind != CTP_EV_THREAD && !ends))
		return 0;
	if (!(c = entity_of(s, m, m->from)))
		return -ENOMEM;
	if (m->kind == CTP_EV_CREATE) {
		c->life = CTP_CREATED;
		c->entry = m->value;
		c->creator = m->b;
		c->creator_stack = m->stack;
	}
	if (ends) {
		c->life = m->kind == CTP_EV_FINISH ? CTP_FINISHED : CTP_DESTROYED;
		c->ended_ns = m->ns;
	} else {
		c->created_ns = m->ns;
	}
	c->native |= m->kind == CTP_EV_THREAD;
	c->since_ns = m->ns;
	return 0;
}

static int take(void *arg, const struct transition *m)
{
	struct walking *k = arg;
	struct source *s = k->s;
	int r = 0;
	k->image = m->image;
	if (m->kind != CTP_EV_SWITCH && m->kind != CTP_EV_STATION) {
		r = s->counting ? count_other(s, m) : 0;
		return !r && puts_rows(s, SCHEMA_EVENTS) ? put_event(s, m) : r;
	}
	if (puts_rows(s, SCHEMA_SWITCHES))
		r = put_switch(s, m);
	if (!r && m->from)
		r = leaves(s, m);
	if (!r && m->to)
		r = resumes(s, m);
	return r;
}

// The image whose tables have this entity; NULL: none.
static const struct image *image_of(const struct source *s, uint64_t id)
{
	for (size_t i = 0; i < s->world->nimages; i++)
		if (s->world->images[i].has_tables && image_entity(&s->world->images[i], id))
			return &s->world->images[i];
	return NULL;
}

static void left(void *arg, struct ctp_merge_entity *e)
{
	struct walking *k = arg;
	if (!k->r && e->suspended && !e->native && e->since_ns && puts_rows(k->s, SCHEMA_WAITS))
		k->r = put_wait(k->s, image_of(k->s, e->id), e, 0);
}

int source_history(struct source *s)
{
	struct walking k = {.s = s};
	int r = transitions_walk_all(s->world, take, left, &k);
	return r ? r : k.r;
}

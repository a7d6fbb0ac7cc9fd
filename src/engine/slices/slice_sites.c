// SPDX-License-Identifier: MIT
//
// The sampler's results by rule, coroutine and site. A line is written when a site is new, when it
// has become twice as bad, and at the final inspection, so that a line holds all that is known by
// then, and the last one counts (spec/trace.md). A site keeps SITE_COROUTINES of them; more are
// counted.
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ctp/rules.h"
#include "ctp/words.h"
#include "engine/slices/slice.h"

enum { SITES = 1024, SITE_COROUTINES = 64 };

struct site {
	unsigned rule;
	uint64_t id, hash;
	uint64_t count, worst_ns, total_ns; // of slices that are over
	uint64_t said_ns, said_count;
	struct slice slice; // the worst
};

struct slice_sites {
	FILE *out;
	struct site *v;
	size_t n, capacity;
	uint64_t dropped;
};

struct slice_sites *slice_sites_new(FILE *out)
{
	struct slice_sites *s = calloc(1, sizeof(*s));
	if (s)
		s->out = out;
	return s;
}

void slice_sites_free(struct slice_sites *s)
{
	if (!s)
		return;
	free(s->v);
	free(s);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x100000001b3ULL ^ h >> 31;
}

static uint64_t hash_of(unsigned rule, const struct slice *l)
{
	uint64_t h = mix(0xcbf29ce484222325ULL, rule);
	if (rule == RULE_STARVED)
		return mix(h, l->went_on);
	for (const char *p = l->block.call; p && *p; p++)
		h = mix(h, (unsigned char)*p);
	for (size_t i = 0; i < l->block.stack.n; i++)
		h = mix(h, l->block.stack.pcs[i]);
	return h;
}

static struct site *find(struct slice_sites *s, unsigned rule, uint64_t id, uint64_t hash)
{
	size_t here = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].hash != hash || s->v[i].rule != rule)
			continue;
		if (s->v[i].id == id)
			return &s->v[i];
		here++;
	}
	if (here >= SITE_COROUTINES || s->n >= SITES)
		return NULL;
	if (s->n == s->capacity) {
		size_t room = s->capacity ? 2 * s->capacity : 8;
		struct site *more = realloc(s->v, room * sizeof(*more));
		if (!more)
			return NULL;
		s->v = more;
		s->capacity = room;
	}
	s->v[s->n] = (struct site){.rule = rule, .id = id, .hash = hash};
	return &s->v[s->n++];
}

static json_t *stack(const struct slice_stack *k)
{
	json_t *a = json_array();
	for (size_t i = 0; i < k->n; i++)
		json_array_append_new(a, json_hex(k->pcs[i]));
	return a;
}

static void add_block(json_t *o, const struct slice_block *b)
{
	json_object_set_new(o, "call", json_text(b->call));
	json_object_set_new(o, "disk", json_boolean(b->kind == SLICE_DISK));
	json_object_set_new(o, "asleep_ns", json_count(b->ns));
	json_object_set_new(o, "stack", stack(&b->stack));
	if (b->fd >= 0) {
		json_object_set_new(o, "fd", json_integer(b->fd));
		json_object_set_new(o, "gen", json_integer(b->gen));
		json_object_set_new(o, "fd_kind", json_text(words_kind(b->fd_kind)));
	}
	if (b->lock)
		json_object_set_new(o, "lock", json_hex(b->lock));
	if (*b->lock_name)
		json_object_set_new(o, "lock_name", json_text(b->lock_name));
	if (b->owner_tid) {
		json_object_set_new(o, "owner_tid", json_integer(b->owner_tid));
		json_object_set_new(o, "owner", json_count(b->owner));
		json_object_set_new(o, "owner_stack", stack(&b->owner_stack));
	}
}

static void write_line(const struct slice_sites *s, const struct site *k, const struct slice *l,
		       uint64_t count, uint64_t ns, uint64_t total, bool over)
{
	if (!s->out)
		return;
	json_t *o = json_pack(
		"{s:i, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:i}",
		"v", 1, "rule", rules_id[k->rule], "coroutine", json_count(k->id), "changes",
		json_count(l->changes), "site", json_hex(k->hash), "count", json_count(count), "over",
		(int)over, "began_ns", json_count(l->began_ns), "slice_ns", json_count(ns), "tid", l->tid,
		"total_ns", json_count(total), "cpu_ns", json_count(l->cpu_ns), "delayed_ns",
		json_count(l->delayed_ns), "blocked_ns", json_count(l->blocked_ns), "others", (int)l->others,
		"served", (int)l->served, "went_on", (int)l->went_on, "left", (int)l->left);
	if (!o)
		return;
	if (k->rule == RULE_STARVED)
		json_object_set_new(o, "stack", stack(&l->common));
	else
		add_block(o, &l->block);
	json_line(s->out, o);
	fflush(s->out);
}

void slice_sites_note(struct slice_sites *s, unsigned rule, const struct slice *l, uint64_t ns, bool over)
{
	uint64_t slice_ns = ns > l->began_ns ? ns - l->began_ns : 0;
	struct site *k = find(s, rule, l->id, hash_of(rule, l));
	if (!k) {
		s->dropped += over;
		return;
	}
	uint64_t count = k->count + 1, total = k->total_ns + slice_ns;
	bool worse = slice_ns > k->worst_ns;
	if (over) {
		k->count = count;
		k->total_ns = total;
		k->worst_ns = worse ? slice_ns : k->worst_ns;
	}
	if (worse && (over || !k->count))
		k->slice = *l;
	if (!k->said_ns || slice_ns >= 2 * k->said_ns) {
		write_line(s, k, l, count, slice_ns, total, over);
		k->said_ns = slice_ns ? slice_ns : 1;
		k->said_count = over ? count : 0;
	}
}

void slice_sites_flush(struct slice_sites *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct site *k = &s->v[i];
		if (k->count > k->said_count)
			write_line(s, k, &k->slice, k->count, k->worst_ns, k->total_ns, true);
		k->said_count = k->count;
	}
	if (s->dropped && s->out) {
		fprintf(s->out, "{\"v\":1,\"dropped\":%llu}\n", (unsigned long long)s->dropped);
		fflush(s->out);
	}
	s->dropped = 0;
}

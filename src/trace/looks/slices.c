// SPDX-License-Identifier: MIT
//
// Reads what ctp-run sampled. It writes lines while it samples, so the last line about a
// rule, coroutine and site counts.
#include "trace/looks/slices.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "ctp/rules.h"

static uint64_t number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	json_int_t i = json_integer_value(v);
	if (json_is_string(v))
		return strtoull(json_string_value(v), NULL, 0);
	return i > 0 ? (uint64_t)i : 0;
}

static int32_t descriptor(const json_t *o)
{
	const json_t *v = json_object_get(o, "fd");
	json_int_t i = json_integer_value(v);
	return json_is_integer(v) && i >= 0 && i <= INT32_MAX ? (int32_t)i : -1;
}

static char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? strdup(s) : NULL;
}

int slices_stack(struct slices_set *s, const json_t *a, uint32_t *out)
{
	return slices_stack_of(s, a, 0, out);
}

int slices_stack_of(struct slices_set *s, const json_t *a, uint32_t flags, uint32_t *out)
{
	size_t n = json_array_size(a);
	*out = 0;
	if (!n)
		return 0;
	if (GROW(s->stacks, s->nstacks, s->stacks_capacity))
		return -ENOMEM;
	struct slices_stack *k = &s->stacks[s->nstacks];
	*k = (struct slices_stack){.flags = flags};
	for (size_t i = 0; i < n && k->n < SLICES_STACK_WORDS; i++) {
		const char *pc = json_string_value(json_array_get(a, i));
		if (pc)
			k->pcs[k->n++] = strtoull(pc, NULL, 0);
	}
	*out = SLICES_STACK + (uint32_t)s->nstacks++;
	return 0;
}

static void item_deinit(struct slices_item *i)
{
	free(i->call);
	free(i->fd_kind);
	free(i->lock_name);
}

static int find(struct slices_set *s, unsigned rule, uint64_t coroutine, uint64_t site,
		struct slices_item **out)
{
	for (size_t i = 0; i < s->n; i++) {
		*out = &s->items[i];
		if ((*out)->rule == rule && (*out)->coroutine == coroutine && (*out)->site == site) {
			item_deinit(*out);
			return 0;
		}
	}
	int r = GROW(s->items, s->n, s->capacity);
	if (!r)
		*out = &s->items[s->n++];
	return r;
}

static int add(void *set, const json_t *o)
{
	struct slices_set *s = set;
	uint64_t coroutine = number(o, "coroutine"), site = number(o, "site");
	struct slices_item *i;
	unsigned rule = rules_number(json_string_value(json_object_get(o, "rule")));
	s->dropped += number(o, "dropped");
	if (!rule || !coroutine) {
		s->bad_lines += !json_object_get(o, "dropped");
		return 0;
	}
	int r = find(s, rule, coroutine, site, &i);
	if (r)
		return r;
	*i = (struct slices_item){
		.rule = rule,
		.coroutine = coroutine,
		.site = site,
		.changes = number(o, "changes"),
		.count = number(o, "count"),
		.began_ns = number(o, "began_ns"),
		.slice_ns = number(o, "slice_ns"),
		.total_ns = number(o, "total_ns"),
		.cpu_ns = number(o, "cpu_ns"),
		.delayed_ns = number(o, "delayed_ns"),
		.blocked_ns = number(o, "blocked_ns"),
		.asleep_ns = number(o, "asleep_ns"),
		.over = json_is_true(json_object_get(o, "over")),
		.disk = json_is_true(json_object_get(o, "disk")),
		.waited = json_is_true(json_object_get(o, "waited")),
		.others = number(o, "others"),
		.served = number(o, "served"),
		.went_on = (uint32_t)number(o, "went_on"),
		.left = (uint32_t)number(o, "left"),
		.call = text(o, "call"),
		.fd_kind = text(o, "fd_kind"),
		.lock_name = text(o, "lock_name"),
		.fd = descriptor(o),
		.gen = (uint32_t)number(o, "gen"),
		.lock = number(o, "lock"),
		.owner = number(o, "owner"),
		.owner_tid = number(o, "owner_tid"),
		.blocked_tid = number(o, "blocked_tid"),
		.size = number(o, "size"),
		.unused = number(o, "unused"),
	};
	r = slices_stack(s, json_object_get(o, "stack"), &i->stack);
	return r ? r : slices_stack(s, json_object_get(o, "owner_stack"), &i->owner_stack);
}

int slices_read(struct slices_set *s, int folder, const char *name)
{
	return json_each_line(folder, name, add, s, &s->bad_lines);
}

void slices_deinit(struct slices_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		item_deinit(&s->items[i]);
	free(s->items);
	free(s->stacks);
	*s = (struct slices_set){0};
}

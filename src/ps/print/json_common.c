// SPDX-License-Identifier: MIT
//
// A hundred thousand coroutines share a few functions, places and stacks. The text of each
// combination is made when it first occurs.
#include "ps/print/json_common.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/json.h"
#include "symbols/frames_json.h"

json_t *json_common_stack(const struct report *r, uint32_t number)
{
	struct frames f;
	json_t *j = !number || report_frames(r, number, &f) ? NULL : frames_json(&f);
	if (number)
		frames_deinit(&f);
	return j ? j : json_null();
}

static char *text_of(json_t *j)
{
	char *text = json_dumps(j, JSON_ENCODE_ANY);
	json_decref(j);
	return text;
}

static void free_one(struct json_common_one *o)
{
	if (!o)
		return;
	free(o->entry);
	free(o->created_at);
	free(o->label);
	free(o->stack);
	free(o);
}

static bool same(const struct json_common_one *a, const struct json_common_one *b)
{
	return a->function == b->function && a->runs == b->runs && a->creator_stack == b->creator_stack &&
	       a->recorded == b->recorded && a->shown == b->shown;
}

static struct json_common_one *make(const struct json_common_one *key, const struct report *r,
				    const struct coroutine *c)
{
	struct json_common_one *o = malloc(sizeof(*o));
	char label[128];
	if (!o)
		return NULL;
	*o = *key;
	o->entry = text_of(frames_json_one(report_entry(r, c)));
	o->created_at = text_of(frames_json_one(report_created_at(r, c)));
	o->label = text_of(json_text(report_label(r, c, label, sizeof(label))));
	o->stack = text_of(json_common_stack(r, o->shown));
	if (o->entry && o->created_at && o->label && o->stack)
		return o;
	free_one(o);
	return NULL;
}

const struct json_common_one *json_common_get(struct json_common *m, const struct report *r,
					      const struct coroutine *c, uint32_t shown)
{
	const struct json_common_one key = {.function = c->entry,
					    .runs = c->life == CTP_RUNNING ? c->id : 0,
					    .creator_stack = c->creator_stack,
					    .recorded = c->stack,
					    .shown = shown};
	uint64_t hash = c->entry;
	const uint64_t words[] = {key.runs, key.creator_stack, key.recorded, key.shown};
	uint32_t at;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL + (hash >> 29);
	for (; (at = idmap_get(&m->by_hash, hash)) != IDMAP_NONE; hash++)
		if (same(m->v[at], &key))
			return m->v[at];
	struct json_common_one *o = GROW(m->v, m->n, m->capacity) ? NULL : make(&key, r, c);
	if (o && idmap_set(&m->by_hash, hash, (uint32_t)m->n)) {
		free_one(o);
		o = NULL;
	}
	if (o)
		m->v[m->n++] = o;
	return o;
}

void json_common_deinit(struct json_common *m)
{
	for (size_t i = 0; i < m->n; i++)
		free_one(m->v[i]);
	free(m->v);
	idmap_deinit(&m->by_hash);
	*m = (struct json_common){0};
}

// SPDX-License-Identifier: MIT
//
// The tasks that the program tells of, for programs: spec/tasks.md. (--tasks --format=json)
#include <jansson.h>

#include "analyze/format/format.h"
#include "analyze/history/tasks.h"
#include "base/json.h"

static json_t *known(const char *text)
{
	return json_text(text && *text ? text : NULL);
}

static json_t *places(const struct tasks_places *p, bool calls)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < p->n; i++) {
		const struct tracks_site *s = p->items[i].site;
		const char *function = !s    ? NULL :
				       calls ? s->caller :
					       s->function,
			   *place = !s    ? NULL :
				    calls ? s->caller_place :
					    s->place;
		json_array_append_new(a, json_pack("{s:o, s:o, s:o}", "ns", json_count(p->items[i].ns),
						   "function", known(function), "place", known(place)));
	}
	return a;
}

// Adds the parts of `s` to an object.
static json_t *with_split(json_t *o, const struct tasks_split *s)
{
	char key[32];
	for (unsigned i = 0; o && i < TASKS_PARTS; i++) {
		snprintf(key, sizeof(key), "%s_ns", tasks_parts[i]);
		json_object_set_new(o, key, json_count(s->parts[i]));
	}
	json_object_set_new(o, "waits", places(&s->waits, false));
	json_object_set_new(o, "blocks", places(&s->blocks, true));
	return o;
}

static json_t *slowest(const struct tasks_type *y)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < y->nslowest; i++) {
		const struct task *k = y->slowest[i];
		json_t *o = json_pack("{s:o, s:o, s:o, s:b, s:o, s:o}", "task", json_hex(k->id), "coroutine",
				      k->coroutine ? json_count(k->coroutine) : json_null(), "thread",
				      json_count(k->tid), "ended", k->ended, "begun_ns",
				      json_count(k->begin_ns), "ns", json_count(k->ns));
		json_array_append_new(a, with_split(o, &k->split));
	}
	return a;
}

static json_t *within(const struct tasks_type *y)
{
	static const unsigned percents[] = {50, 90, 99, 100};
	json_t *o = json_object();
	char key[8];
	for (unsigned i = 0; y->n && i < sizeof(percents) / sizeof(*percents); i++) {
		snprintf(key, sizeof(key), "%u", percents[i]);
		json_object_set_new(o, key, json_count(tasks_rank(y, percents[i])));
	}
	return o;
}

static json_t *types(const struct tasks *t)
{
	json_t *a = json_array();
	for (size_t i = 0; i < t->ntypes; i++) {
		const struct tasks_type *y = &t->types[i];
		uint64_t whole = 0;
		for (size_t n = 0; n < y->n; n++)
			whole += y->took[n];
		json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o}", "type", json_text(y->name), "begun",
				      json_count(y->begun), "ended", json_count(y->n), "within_ns", within(y),
				      "ns", json_count(whole));
		o = with_split(o, &y->split);
		json_object_set_new(o, "slowest", slowest(y));
		json_array_append_new(a, o);
	}
	return a;
}

int format_tasks_json(FILE *to, const struct report *r, const struct format_settings *settings)
{
	struct tasks t;
	int e = tasks_make(&t, r, settings->symfs);
	json_t *root = e ? NULL :
			   json_pack("{s:i, s:s, s:o, s:o, s:o}", "version", 1, "tool",
				     "ctp-analyze " CTP_TOOL_VERSION, "path", json_text(r->world->path),
				     "tasks", types(&t), "unmatched", json_count(t.unmatched));
	if (!e)
		e = !root                                                         ? -ENOMEM :
		    json_dumpf(root, to, JSON_INDENT(2)) || putc('\n', to) == EOF ? format_not_written() :
										    0;
	json_decref(root);
	tasks_deinit(&t);
	return e;
}

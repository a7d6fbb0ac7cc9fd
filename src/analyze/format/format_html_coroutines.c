// SPDX-License-Identifier: MIT
//
// The coroutines of an HTML report: one array per column, so that a hundred thousand rows
// take some megabytes. Ids, times and descriptors are differences to the row before; a column
// of one value is that value; names and kinds of waits are listed once. Rows are those of the
// last tables: a coroutine that has ended is there until its row is used again, and is counted
// in any case.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/html.h"
#include "base/json.h"
#include "ctp/words.h"

#define ROWS_MOST 250000 // the rest is only counted

enum column {
	COL_ID,
	COL_IMAGE,
	COL_NAME,
	COL_STATE,
	COL_STACK,
	COL_CREATOR,
	COL_MADE_AT,
	COL_CREATED,
	COL_SINCE,
	COL_CHANGES,
	COL_THREAD,
	COL_WAITS,
	COL_FD,
	COL_GEN,
	COL_FINDING,
	COL_BYTES,
	COLUMNS_ALL,
};
static const struct {
	const char *name;
	bool delta;
} columns[COLUMNS_ALL] = {
	[COL_ID] = {"id", true},
	[COL_IMAGE] = {"image", false},
	[COL_NAME] = {"name", false},
	[COL_STATE] = {"state", false},
	[COL_STACK] = {"stack", false},
	[COL_CREATOR] = {"creator", false},
	[COL_MADE_AT] = {"madeAt", false},
	[COL_CREATED] = {"created", true},
	[COL_SINCE] = {"since", true},
	[COL_CHANGES] = {"changes", false},
	[COL_THREAD] = {"thread", false},
	[COL_WAITS] = {"waits", false},
	[COL_FD] = {"fd", true},
	[COL_GEN] = {"gen", false},
	[COL_FINDING] = {"finding", false},
	[COL_BYTES] = {"bytes", false},
};

// As the page's words for them (html/coroutines.js).
enum state {
	STATE_CREATED,
	STATE_WAITING,
	STATE_PARKED,
	STATE_SUSPENDED,
	STATE_RUNNING,
	STATE_FINISHED,
	STATE_DESTROYED,
	STATES
};

struct table_out {
	struct html *h;
	json_t *columns[COLUMNS_ALL];
	json_int_t last[COLUMNS_ALL];
	bool varies[COLUMNS_ALL];
	size_t n;
	json_t *names, *waits, *more, *given;
	struct idmap by_name; // hash of function and stack -> place in names
	struct idmap by_wait; // kind and events -> place in waits
	uint64_t counts[STATES], left_out;
};

static void put(struct table_out *t, enum column c, uint64_t value)
{
	json_int_t v = (json_int_t)value;
	json_array_append_new(t->columns[c], json_integer(columns[c].delta ? v - t->last[c] : v));
	t->varies[c] |= t->n && v != t->last[c];
	t->last[c] = v;
}

static uint32_t place_of(struct table_out *t, struct idmap *map, uint64_t key, json_t *list, const char *text)
{
	uint32_t at = (uint32_t)json_array_size(list);
	json_array_append_new(list, json_text(text));
	if (idmap_set(map, key, at))
		t->h->error = -ENOMEM;
	return at;
}

static uint32_t name_place(struct table_out *t, const struct image *m, const struct ctp_state *s)
{
	uint64_t key =
		(s->entry ^ (uint64_t)s->stack << 44 ^ (uint64_t)m->index << 32) * 0x9e3779b97f4a7c15ULL ^
		(s->life == CTP_FINISHED);
	char name[256], given[CTP_NAME_TEXT];
	bool named = image_name(m, s->id, given) != NULL;
	for (const char *p = named ? given : ""; *p; p++)
		key = (key ^ (unsigned char)*p) * 0x100000001b3ULL;
	uint32_t at = idmap_get(&t->by_name, key);
	if (at != IDMAP_NONE)
		return at;
	*name = 0;
	if (s->entry)
		report_name(t->h->report, m, s, name, 160);
	if (named)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), " \"%s\"", given);
	return place_of(t, &t->by_name, key, t->names, name);
}

static unsigned kind_of(const struct image *m, const struct ctp_wait *w)
{
	const struct ctp_fd *f = image_fd(m, w->fd);
	const struct ctp_cand *c = f && f->gen == w->gen ? NULL : image_end_of(m, w->fd, w->gen);
	return c ? c->fd_kind : f && f->gen == w->gen ? f->kind : CTP_FD_OTHER;
}

// "tcp EPOLLIN", or "tcp EPOLLIN, closed".
static uint32_t wait_place(struct table_out *t, const struct image *m, const struct ctp_wait *w)
{
	const struct ctp_fd *f = image_fd(m, w->fd);
	bool closed = image_end_of(m, w->fd, w->gen) || (f && (f->gen != w->gen || f->life == CTP_FD_CLOSED));
	unsigned kind = kind_of(m, w);
	uint64_t key = (uint64_t)kind << 40 | (uint64_t)closed << 33 | w->events;
	uint32_t at = idmap_get(&t->by_wait, key);
	char events[96], text[160];
	if (at != IDMAP_NONE)
		return at;
	words_events(w->events, events, sizeof(events));
	snprintf(text, sizeof(text), "%s %s%s", words_kind(kind), events, closed ? ", closed" : "");
	return place_of(t, &t->by_wait, key, t->waits, text);
}

static void put_waits(struct table_out *t, const struct image *m, const struct ctp_state *s)
{
	unsigned n = s->life == CTP_SUSPENDED ? image_nwaits(s) : 0;
	put(t, COL_WAITS, n ? 1 + wait_place(t, m, &s->waits[0]) : 0);
	put(t, COL_FD, n ? (uint64_t)s->waits[0].fd : (uint64_t)t->last[COL_FD]);
	put(t, COL_GEN, n ? s->waits[0].gen : 0);
	for (unsigned i = 1; i < n; i++)
		json_array_append_new(t->more, json_pack("[o, i, o, o]", json_count(t->n), s->waits[i].fd,
							 json_count(s->waits[i].gen),
							 json_count(wait_place(t, m, &s->waits[i]))));
}

static enum state state_of(const struct image *m, const struct ctp_state *s, size_t row)
{
	if (m->replaced && s->life != CTP_FINISHED)
		return STATE_DESTROYED;
	switch (s->life) {
	case CTP_CREATED:
		return STATE_CREATED;
	case CTP_RUNNING:
		return STATE_RUNNING;
	case CTP_FINISHED:
		return STATE_FINISHED;
	case CTP_DESTROYED:
		return STATE_DESTROYED;
	default:
		break;
	}
	unsigned flags = m->row_flags ? m->row_flags[row] : 0;
	return flags & IMAGE_ROW_HEALTHY ? STATE_WAITING :
	       flags & IMAGE_ROW_PARKED  ? STATE_PARKED :
					   STATE_SUSPENDED;
}

static void put_row(struct table_out *t, const struct image *m, const struct ctp_state *s, enum state state)
{
	const struct ctp_thread *thread = s->thread < m->threads.n ? table_row(&m->threads, s->thread) : NULL;
	uint32_t finding = idmap_get(&t->h->finding_of, html_key(m, s->id));
	char given[CTP_NAME_TEXT];
	if (image_name(m, s->id, given))
		json_array_append_new(t->given, json_pack("[o, o]", json_count(t->n), json_text(given)));
	put(t, COL_ID, s->id);
	put(t, COL_IMAGE, m->index);
	put(t, COL_NAME, name_place(t, m, s));
	put(t, COL_STATE, state);
	json_t *stack = html_stack(t->h, m, image_told_stack(m, s)),
	       *made_at = html_stack(t->h, m, s->creator_stack);
	put(t, COL_STACK, (uint64_t)json_integer_value(stack));
	put(t, COL_MADE_AT, (uint64_t)json_integer_value(made_at));
	json_decref(stack);
	json_decref(made_at);
	put(t, COL_CREATOR, s->creator);
	put(t, COL_CREATED, html_ns(t->h, s->created) / 1000);
	put(t, COL_SINCE, html_ns(t->h, s->since) / 1000);
	put(t, COL_CHANGES, s->changes);
	put(t, COL_THREAD, thread && s->runs ? thread->tid : 0);
	put_waits(t, m, s);
	put(t, COL_FINDING, finding == IDMAP_NONE ? 0 : finding + 1);
	put(t, COL_BYTES, s->hi > s->lo ? s->hi - s->lo : 0);
	t->n++;
}

// Findings' coroutines and those that are still there come first when there are too many.
static void put_rows(struct table_out *t, bool ended)
{
	const struct world *w = t->h->report->world;
	for (size_t i = 0; i < w->nimages; i++) {
		const struct image *m = &w->images[i];
		for (size_t k = 0; m->has_tables && k < m->stations.n; k++) {
			const struct ctp_state *s = image_state(m, k);
			if (s->entity != CTP_COROUTINE || s->life < CTP_CREATED || s->life > CTP_DESTROYED)
				continue;
			enum state state = state_of(m, s, k);
			if ((state >= STATE_FINISHED) != ended)
				continue;
			t->counts[state]++;
			if (t->n < ROWS_MOST ||
			    idmap_get(&t->h->finding_of, html_key(m, s->id)) != IDMAP_NONE)
				put_row(t, m, s, state);
			else
				t->left_out++;
		}
	}
}

static json_t *column(struct table_out *t, enum column c)
{
	json_t *all = t->columns[c];
	if (!t->n || t->varies[c])
		return all;
	json_t *one = json_incref(json_array_get(all, 0));
	json_decref(all);
	return one;
}

json_t *html_coroutines(struct html *h)
{
	struct table_out t = {.h = h,
			      .names = json_array(),
			      .waits = json_array(),
			      .more = json_array(),
			      .given = json_array()};
	for (unsigned i = 0; i < COLUMNS_ALL; i++)
		t.columns[i] = json_array();
	put_rows(&t, false);
	put_rows(&t, true);
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "n", json_count(t.n), "leftOut",
			      json_count(t.left_out), "names", t.names, "given", t.given, "waitNames",
			      t.waits, "moreWaits", t.more);
	json_t *counts = json_array();
	for (unsigned i = 0; i < STATES; i++)
		json_array_append_new(counts, json_count(t.counts[i]));
	json_object_set_new(o, "counts", counts);
	for (unsigned i = 0; i < COLUMNS_ALL; i++)
		json_object_set_new(o, columns[i].name, column(&t, i));
	idmap_deinit(&t.by_name);
	idmap_deinit(&t.by_wait);
	return o;
}

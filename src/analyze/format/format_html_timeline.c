// SPDX-License-Identifier: MIT
//
// The timeline of an HTML report as data: flat cells of bins (repeat count, shares of time in
// percent, switches, and for threads who had most of it), or every slice where all are kept.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/html.h"
#include "analyze/history/timeline.h"
#include "base/json.h"

#define GROUPS_MOST 24

static void put(json_t *a, uint64_t v)
{
	json_array_append_new(a, json_count(v));
}

static json_t *level(const struct bins_level *l, bool tops)
{
	json_t *a = json_array();
	for (size_t i = 0; i < l->n; i++) {
		const struct bins_cell *c = &l->cells[i];
		put(a, c->repeat);
		for (unsigned k = 0; k < BINS_KINDS; k++)
			put(a, c->share[k]);
		put(a, c->transitions);
		if (tops) {
			put(a, c->top);
			put(a, c->top_share);
		}
	}
	return json_pack("{s:o, s:o}", "width", json_count(l->width), "cells", a);
}

static json_t *levels(const struct bins *b, bool tops)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < b->nlevels; i++)
		json_array_append_new(a, level(&b->levels[i], tops));
	return a;
}

static json_t *image_of(const struct image *m)
{
	return m ? json_count(m->index) : json_null();
}

// As pthread_setname_np or the program named it.
static json_t *name_of_thread(const struct timeline_thread *r)
{
	char name[CTP_NAME_TEXT];
	for (size_t i = 0; r->image && i < r->image->threads.n; i++) {
		const struct ctp_thread *e = table_row(&r->image->threads, i);
		if (e->tid == r->tid && e->native)
			return json_text(image_name(r->image, e->native, name));
	}
	return json_null();
}

static json_t *thread(const struct timeline *t, const struct timeline_thread *r)
{
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "tid", json_count(r->tid), "name",
			      name_of_thread(r), "image", image_of(r->image), "first", json_count(r->first),
			      "last", json_count(r->last), "switches", json_count(r->switches), "levels",
			      levels(&r->bins, true));
	if (t->every_slice) {
		json_t *who = json_array(), *ns = json_array(), *ready = json_array();
		for (size_t i = 0; i < r->n; i++) {
			json_array_append_new(
				who, json_integer((json_int_t)r->slices[i].id)); // the thread's own stack: -1
			put(ns, r->slices[i].ns);
			put(ready, r->slices[i].ready);
		}
		json_object_set_new(o, "who", who);
		json_object_set_new(o, "ns", ns);
		json_object_set_new(o, "ready", ready);
	}
	return o;
}

static json_t *lanes(const struct timeline *t)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < t->nlanes; i++) {
		const struct timeline_lane *l = &t->lanes[i];
		if (l->bins.levels[0].n)
			json_array_append_new(
				a, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "id", json_count(l->id),
					     "image", image_of(l->image), "first", json_count(l->first),
					     "last", json_count(l->last), "switches", json_count(l->switches),
					     "levels", levels(&l->bins, false)));
	}
	return a;
}

// What the first of them that the tables have is called, unless another is called otherwise: then their
// function.
static json_t *name_of(const struct html *h, const struct timeline_group *g)
{
	enum { LOOKED_AT = 64 };
	char name[240] = "", other[240];
	size_t n = 0;
	if (!g->image || !g->entry)
		return json_string(g->image ? "function not known" : "all others");
	for (size_t i = 0; i < g->image->stations.n && n < LOOKED_AT; i++) {
		const struct ctp_state *s = image_state(g->image, i);
		if (s->entity != CTP_COROUTINE || s->entry != g->entry || s->life == CTP_FINISHED)
			continue;
		report_name(h->report, g->image, s, n++ ? other : name, sizeof(name));
		if (n > 1 && strcmp(name, other) != 0)
			n = SIZE_MAX;
	}
	if (!n || n == SIZE_MAX)
		frames_entry_name(
			frames_entry(h->report->symbols[g->image - h->report->world->images], g->entry), NULL,
			name, sizeof(name));
	return json_text(name);
}

static int by_peak(const void *a, const void *b)
{
	const struct timeline_group *x = *(struct timeline_group *const *)a,
				    *y = *(struct timeline_group *const *)b;
	return x->peak != y->peak ? (x->peak < y->peak ? 1 : -1) : (x > y) - (x < y);
}

static void put_bins(json_t *a, const double *bins)
{
	for (size_t i = 0; i < TIMELINE_GROUP_BINS * LIVES; i++) {
		uint64_t hundredths = (uint64_t)(bins[i] * 100 + 0.5);
		if (bins[i] >= 100 || hundredths % 100 == 0)
			put(a, (uint64_t)(bins[i] + 0.5));
		else
			json_array_append_new(a, json_real((double)hundredths / 100));
	}
}

// The largest first; what there are too many of becomes one.
static json_t *groups(const struct html *h, const struct timeline *t)
{
	struct timeline_group **all = malloc((t->ngroups + 1) * sizeof(*all));
	json_t *a = json_array();
	for (size_t i = 0; all && i < t->ngroups; i++)
		all[i] = &t->groups[i];
	if (all)
		qsort(all, t->ngroups, sizeof(*all), by_peak);
	for (size_t i = GROUPS_MOST; all && i < t->ngroups; i++) {
		struct timeline_group *rest = all[GROUPS_MOST - 1];
		for (size_t k = 0; k < TIMELINE_GROUP_BINS * LIVES; k++)
			rest->bins[k] += all[i]->bins[k];
		rest->made += all[i]->made;
		rest->peak += all[i]->peak;
		rest->image = NULL;
		rest->entry = 0;
	}
	for (size_t i = 0; all && i < t->ngroups && i < GROUPS_MOST; i++) {
		json_t *bins = json_array();
		put_bins(bins, all[i]->bins);
		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", name_of(h, all[i]), "image",
				     image_of(all[i]->image), "made", json_count(all[i]->made), "peak",
				     json_count(all[i]->peak), "bins", bins));
	}
	free(all);
	return a;
}

// Of each a row: when, on which thread, by which coroutine of which image, and what it says.
static json_t *events(const struct timeline *t)
{
	json_t *a = json_array();
	for (size_t i = 0; i < t->nevents; i++) {
		const struct timeline_event *e = &t->events[i];
		json_array_append_new(
			a, json_pack("[o, o, o, o, o]", json_count(e->ns), json_count(e->tid),
				     json_count(e->coroutine), image_of(e->image), json_text(e->text)));
	}
	return a;
}

static json_t *timeline_json(const struct html *h, const struct timeline *t)
{
	json_t *threads = json_array();
	for (size_t i = 0; i < t->nthreads; i++)
		json_array_append_new(threads, thread(t, &t->threads[i]));
	const struct manifest *m = &h->report->world->manifest;
	bool dropped = m->flight || m->dropped_packets; // the oldest is not there
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "spanNs", json_count(t->span_ns),
			      "beginsNs", dropped ? json_count(t->first_ns) : json_null(), "switches",
			      json_count(t->switches), "gaps", json_count(t->gaps), "everySlice",
			      json_boolean(t->every_slice), "threads", threads, "lanes", lanes(t), "groups",
			      groups(h, t));
	if (t->nevents) {
		json_object_set_new(o, "events", events(t));
		json_object_set_new(o, "eventsLeftOut", json_count(t->events_left_out));
	}
	return o;
}

json_t *html_timeline(struct html *h)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int e = t ? timeline_make(t, h->report) : -ENOMEM;
	json_t *o = e || t->unread || !(t->nthreads || t->nevents) ? json_null() : timeline_json(h, t);
	if (t)
		timeline_deinit(t);
	free(t);
	h->error = e ? e : h->error;
	return o;
}

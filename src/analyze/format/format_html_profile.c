// SPDX-License-Identifier: MIT
//
// Where time went, for the HTML report: the sites of a profile with their stacks (names are
// listed once), weights, and histograms of waits, slices and latencies. Of very many sites the
// heaviest are listed; the others are one, by their weights alone.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/html.h"
#include "analyze/history/profile.h"
#include "base/json.h"

#define SITES_MOST 3000u

struct sites_out {
	struct html *h;
	struct profile *p;
	json_t *names;  // [[name, place], ...]
	json_t *places; // name and place -> row of names
};

static json_t *name_of(struct sites_out *o, const struct profile_frame *f)
{
	char key[1024], place[300] = "";
	if (f->frame && f->frame->file)
		snprintf(place, sizeof(place), "%s:%d", frames_path(f->frame), f->frame->line);
	snprintf(key, sizeof(key), "%s\n%s", f->name, place);
	json_t *name = json_text(key), *at = json_object_get(o->places, json_string_value(name));
	if (!at) {
		at = json_integer((json_int_t)json_array_size(o->names));
		json_array_append_new(o->names, json_pack("[o, o, b]", json_text(f->name), json_text(place),
							  f->frame && frames_is_library(f->frame)));
		json_object_set_new(o->places, json_string_value(name), at);
	}
	json_decref(name);
	return json_incref(at);
}

// [how many, sum, the longest, the first bucket that is told, counts ...]
static json_t *histogram(const struct profile_histogram *g)
{
	unsigned first = 0, end = PROFILE_BUCKETS;
	if (!g || !g->n)
		return json_null();
	while (first < PROFILE_BUCKETS && !g->buckets[first])
		first++;
	while (end > first && !g->buckets[end - 1])
		end--;
	json_t *a = json_pack("[o, o, o, i]", json_count(g->n), json_count(g->sum), json_count(g->most),
			      (int)first);
	for (unsigned i = first; i < end; i++)
		json_array_append_new(a, json_count(g->buckets[i]));
	return a;
}

static json_t *weights(const uint64_t *w)
{
	json_t *a = json_array();
	for (unsigned k = 0; k < PROFILE_WEIGHTS; k++)
		json_array_append_new(a, json_count(w[k]));
	return a;
}

// The page has it only if it is asked for: loops that slept, waits that had not ended.
static bool outweighs(const struct profile_site *s)
{
	return s->unended || s->part == PROFILE_IDLE;
}

static json_t *site(struct sites_out *o, const struct profile_site *s)
{
	struct profile_stack stack;
	json_t *names = json_array(), *times = json_array();
	if (profile_stack_of(o->p, s, &stack)) {
		o->h->error = -ENOMEM;
	} else {
		for (size_t i = 0; i < stack.n; i++)
			json_array_append_new(names, name_of(o, &stack.items[i]));
		profile_stack_deinit(&stack);
	}
	for (unsigned k = 0; k < PROFILE_COUNT; k++)
		json_array_append_new(times, histogram(s->times[k]));
	json_t *all =
		json_pack("{s:o, s:o, s:o}", "names", names, "weight", weights(s->weight), "times", times);
	if (s->image && s->stack && s->part == PROFILE_STACK)
		json_object_set_new(all, "stack", html_stack(o->h, s->image, s->stack));
	if (s->native)
		json_object_set_new(all, "native", json_true());
	if (outweighs(s))
		json_object_set_new(all, "allTime", json_true());
	return all;
}

// By the largest share that a site has of any weight.
static double share(const struct profile *p, const struct profile_site *s)
{
	double most = 0;
	for (unsigned k = 0; k < PROFILE_WEIGHTS; k++) {
		double part = p->weight[k] ? (double)s->weight[k] / (double)p->weight[k] : 0;
		most = part > most ? part : most;
	}
	return most;
}

struct ranked {
	const struct profile_site *site;
	double share;
};

static int by_share(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return x->share != y->share ? (x->share < y->share ? 1 : -1) :
				      (x->site > y->site) - (x->site < y->site);
}

// What the sites that are not listed weigh: [0] what the page always has, [1] what it may have in addition.
struct left_out {
	uint64_t weight[2][PROFILE_WEIGHTS];
	size_t n;
};

static json_t *sites(struct sites_out *o, struct left_out *left_out)
{
	struct ranked *all = calloc(o->p->n + 1, sizeof(*all));
	json_t *a = json_array();
	if (!all)
		o->h->error = -ENOMEM;
	for (size_t i = 0; all && i < o->p->n; i++)
		all[i] = (struct ranked){&o->p->sites[i], share(o->p, &o->p->sites[i])};
	if (all)
		qsort(all, o->p->n, sizeof(*all), by_share);
	for (size_t i = 0; all && i < o->p->n; i++) {
		if (i < SITES_MOST) {
			json_array_append_new(a, site(o, all[i].site));
			continue;
		}
		for (unsigned k = 0; k < PROFILE_WEIGHTS; k++)
			left_out->weight[outweighs(all[i].site)][k] += all[i].site->weight[k];
		left_out->n++;
	}
	free(all);
	return a;
}

static json_t *profile_json(struct html *h, struct profile *p)
{
	struct sites_out o = {.h = h, .p = p, .names = json_array(), .places = json_object()};
	struct left_out left_out = {0};
	json_t *units = json_array(), *all = json_array(), *list = sites(&o, &left_out);
	for (unsigned k = 0; k < PROFILE_WEIGHTS; k++)
		json_array_append_new(units, json_pack("[s, s, s]", profile_units[k].name,
						       profile_units[k].unit, profile_units[k].title));
	for (unsigned k = 0; k < PROFILE_COUNT; k++)
		json_array_append_new(all, histogram(&p->all[k]));
	json_decref(o.places);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:[o, o], s:o, s:o, s:o}", "units", units, "names",
			 o.names, "sites", list, "all", all, "allUnended", histogram(&p->all_unended),
			 "leftOut", weights(left_out.weight[0]), weights(left_out.weight[1]), "sitesLeftOut",
			 json_count(left_out.n), "unended", json_count(p->unended), "unendedTime",
			 json_count(p->unended_ns));
}

json_t *html_profile(struct html *h, const char *symfs)
{
	struct profile p;
	if (!h->report->world->events && h->report->world->form != WORLD_CORE)
		return json_null();
	int e = profile_make(&p, h->report->world, symfs, false, NULL, PROFILE_APART);
	json_t *o = e ? json_null() : profile_json(h, &p);
	if (!e)
		profile_deinit(&p);
	h->error = e == -ENOMEM ? e : h->error;
	return o;
}

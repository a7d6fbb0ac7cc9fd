// SPDX-License-Identifier: MIT
//
// Stacks for the HTML report, each listed once: a hundred thousand coroutines are suspended on
// a few stacks, and all stacks of a program are made of some hundred frames.
#include <errno.h>
#include <stdlib.h>

#include "analyze/format/html.h"
#include "base/file.h"
#include "base/json.h"

static json_t *frame_json(struct symbols *s, const struct symbols_frame *f)
{
	char name[512];
	char *source = symbols_source_line(s, f);
	const char *path = frames_path(f);
	json_t *a = json_pack("[o, o, i, o, i, o, i]", json_text(frames_whole_name(f, name, sizeof(name))),
			      json_text(*path ? path : NULL), f->line, json_text(source),
			      frames_is_library(f), json_text(f->module ? file_base(f->module) : NULL),
			      f->inlined);
	free(source);
	return a;
}

static uint32_t frame_place(struct html *h, struct symbols *s, const struct symbols_frame *f)
{
	uint64_t key = (uint64_t)(uintptr_t)f;
	uint32_t at = idmap_get(&h->by_frame, key);
	if (at != IDMAP_NONE)
		return at;
	at = (uint32_t)json_array_size(h->frames);
	if (json_array_append_new(h->frames, frame_json(s, f)) || idmap_set(&h->by_frame, key, at))
		h->error = -ENOMEM;
	return at;
}

static json_t *frame_places(struct html *h, const struct image *m, uint32_t stack)
{
	struct symbols *s = h->report->symbols[m - h->report->world->images];
	struct frames f = {0};
	json_t *a = json_array();
	if (s && frames_read(&f, s, m, stack))
		h->error = -ENOMEM;
	for (size_t i = 0; i < f.n; i++)
		json_array_append_new(a, json_integer(frame_place(h, s, f.items[i])));
	frames_deinit(&f);
	return a;
}

json_t *html_stack(struct html *h, const struct image *m, uint32_t stack)
{
	uint64_t key = (uint64_t)m->index << 32 | stack;
	uint32_t at = stack ? idmap_get(&h->by_stack, key) : 0;
	if (at != IDMAP_NONE)
		return json_integer(at);
	json_t *places = frame_places(h, m, stack);
	at = json_array_size(places) ? (uint32_t)json_array_size(h->stacks) : 0;
	if (at)
		json_array_append_new(h->stacks, places);
	else
		json_decref(places);
	if (idmap_set(&h->by_stack, key, at))
		h->error = -ENOMEM;
	return json_integer(at);
}

uint64_t html_ns(const struct html *h, uint64_t ticks)
{
	const struct world *w = h->report->world;
	uint64_t at = world_ns(w, ticks);
	return at > w->start_ns ? at - w->start_ns : 0;
}

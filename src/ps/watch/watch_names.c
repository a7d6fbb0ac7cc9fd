// SPDX-License-Identifier: MIT
//
// Many coroutines have few entry functions and few stacks. Each of these is named once, and
// searched once for the text that the user looks for; a row then costs one look-up.
#include "ps/watch/watch_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "ctp/words.h"

enum { FOUND = 1, NOT_FOUND = 0 };

struct label {
	char *text;
	uint32_t rank;
	bool found;
};

struct labels {
	struct label *v;
	size_t n, capacity;
	struct idmap by_key;
	bool ranked;
};

struct watch_names {
	const struct report *report;
	struct labels names;  // by first function and stack
	struct labels places; // by stack
	struct idmap stacks;  // stacks to FOUND or NOT_FOUND
	char text[128];
};

int watch_names_new(struct watch_names **out, const struct report *r)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->report = r;
	return 0;
}

static void labels_deinit(struct labels *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].text);
	free(l->v);
	idmap_deinit(&l->by_key);
}

void watch_names_free(struct watch_names *n)
{
	if (!n)
		return;
	labels_deinit(&n->names);
	labels_deinit(&n->places);
	idmap_deinit(&n->stacks);
	free(n);
}

static bool has(const struct watch_names *n, const char *in)
{
	return strcasestr(in, n->text) != NULL;
}

// What it is called may depend on what is on its stack (a library's template says little): while it
// runs, on what was there last.
static void name(const struct watch_names *n, const struct watch_row *r, char *buf, size_t bytes)
{
	struct coroutine c = r->c;
	if (r->frame) {
		listing_label(n->report->unlisted, r->frame, buf, bytes);
		return;
	}
	c.stack = 0;
	if (stacks_recorded(n->report->stacks, r->stack, &c.stack))
		c.stack = 0;
	report_label(n->report, &c, buf, bytes);
}

static struct label *add(const struct watch_names *n, struct labels *l, uint64_t key, const char *text)
{
	char *copy = strdup(text);
	if (!copy || GROW(l->v, l->n, l->capacity) || idmap_set(&l->by_key, key, (uint32_t)l->n)) {
		free(copy);
		return NULL;
	}
	l->v[l->n] = (struct label){.text = copy, .found = has(n, copy)};
	l->ranked = false;
	return &l->v[l->n++];
}

static struct label *label_of(struct watch_names *n, const struct watch_row *r)
{
	char text[256];
	uint64_t key = (r->c.entry * 0x9e3779b97f4a7c15ULL) ^ r->stack;
	uint32_t at = idmap_get(&n->names.by_key, key);
	if (at != IDMAP_NONE)
		return &n->names.v[at];
	name(n, r, text, sizeof(text));
	return add(n, &n->names, key, text);
}

// Those of the stack with which it is suspended. False: none is known.
static bool frames_of(const struct watch_names *n, const struct watch_row *r, struct frames *f)
{
	uint32_t number = 0;
	if (r->frame)
		return !listing_frames(n->report->unlisted, r->frame->stack, f) && f->n;
	return !stacks_recorded(n->report->stacks, r->c.recorded, &number) && number &&
	       !report_frames(n->report, number, f);
}

// The innermost function of the program's own, and its line.
static void place(const struct watch_names *n, const struct watch_row *r, char *buf, size_t bytes)
{
	char function[160];
	struct frames f = {0};
	snprintf(buf, bytes, "-");
	if (frames_of(n, r, &f)) {
		const struct symbols_frame *at = frames_first_own(&f);
		frames_name(at, function, sizeof(function));
		if (at->file)
			snprintf(buf, bytes, "%s %s:%d", function, file_base(at->file), at->line);
		else
			snprintf(buf, bytes, "%s", function);
	}
	frames_deinit(&f);
}

static struct label *place_of(struct watch_names *n, const struct watch_row *r)
{
	char text[256];
	uint32_t stack = r->c.life == CTP_SUSPENDED || r->frame ? r->c.recorded : 0;
	uint32_t at = idmap_get(&n->places.by_key, stack);
	if (at != IDMAP_NONE)
		return &n->places.v[at];
	if (stack)
		place(n, r, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "-");
	return add(n, &n->places, stack, text);
}

const char *watch_names_label(struct watch_names *n, const struct watch_row *r)
{
	const struct label *l = label_of(n, r);
	return l ? l->text : "?";
}

const char *watch_names_place(struct watch_names *n, const struct watch_row *r)
{
	const struct label *l = place_of(n, r);
	return l ? l->text : "?";
}

static int compare(const void *a, const void *b)
{
	const struct label *x = *(struct label *const *)a, *y = *(struct label *const *)b;
	return strcmp(x->text, y->text);
}

static void rank_all(struct labels *l)
{
	struct label **v = calloc(l->n + 1, sizeof(*v));
	if (!v)
		return;
	for (size_t i = 0; i < l->n; i++)
		v[i] = &l->v[i];
	qsort(v, l->n, sizeof(*v), compare);
	for (uint32_t i = 0; i < l->n; i++)
		v[i]->rank = i && !strcmp(v[i]->text, v[i - 1]->text) ? v[i - 1]->rank : i;
	free(v);
	l->ranked = true;
}

uint32_t watch_names_rank(struct watch_names *n, const struct watch_row *r)
{
	const struct label *l = label_of(n, r);
	if (l && !n->names.ranked)
		rank_all(&n->names);
	return l ? l->rank : UINT32_MAX;
}

uint32_t watch_names_place_rank(struct watch_names *n, const struct watch_row *r)
{
	const struct label *l = place_of(n, r);
	if (l && !n->places.ranked)
		rank_all(&n->places);
	return l ? l->rank : UINT32_MAX;
}

const char *watch_names_state(const struct watch_row *r)
{
	return r->closed                                     ? "closed" :
	       r->frame && r->frame->state != LISTING_POOLED ? listing_state_word(r->frame) :
							       report_status(&r->c);
}

void watch_names_waits(const struct coroutine *c, char *buf, size_t bytes)
{
	char events[96];
	size_t at = 0;
	*buf = 0;
	for (unsigned i = 0; i < c->nwaits && at < bytes; i++) {
		words_events(c->waits[i].events, events, sizeof(events));
		for (char *p; (p = strstr(events, "EPOLL"));)
			memmove(p, p + 5, strlen(p + 5) + 1);
		at += (size_t)snprintf(buf + at, bytes - at, "%s%d", i ? ", " : "", c->waits[i].fd);
		if (at < bytes && c->waits[i].gen != WATCH_NO_GEN)
			at += (size_t)snprintf(buf + at, bytes - at, "#%" PRIu32, c->waits[i].gen);
		if (at < bytes)
			at += (size_t)snprintf(buf + at, bytes - at, " %s", events);
	}
}

void watch_names_seek(struct watch_names *n, const char *text)
{
	text = text ? text : "";
	if (!strcmp(text, n->text))
		return;
	snprintf(n->text, sizeof(n->text), "%s", text);
	idmap_deinit(&n->stacks);
	for (size_t i = 0; i < n->names.n; i++)
		n->names.v[i].found = has(n, n->names.v[i].text);
}

static bool on_stack(struct watch_names *n, const struct watch_row *r)
{
	uint32_t stack = r->c.recorded, known = idmap_get(&n->stacks, stack);
	struct frames f = {0};
	char function[256];
	if (known != IDMAP_NONE)
		return known == FOUND;
	known = NOT_FOUND;
	if (frames_of(n, r, &f))
		for (size_t i = 0; i < f.n && !known; i++)
			known = has(n, frames_name(f.items[i], function, sizeof(function))) ? FOUND :
											      NOT_FOUND;
	frames_deinit(&f);
	idmap_set(&n->stacks, stack, known); // without memory it is looked through again
	return known == FOUND;
}

bool watch_names_found(struct watch_names *n, const struct watch_row *r, const char *called)
{
	char waits[256];
	if (!*n->text)
		return true;
	const struct label *l = label_of(n, r);
	if ((l && l->found) || has(n, called) || has(n, watch_names_state(r)) ||
	    (r->c.recorded && on_stack(n, r)))
		return true;
	if (!r->c.nwaits)
		return false;
	watch_names_waits(&r->c, waits, sizeof(waits));
	return has(n, waits);
}

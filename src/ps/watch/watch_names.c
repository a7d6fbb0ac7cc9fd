// SPDX-License-Identifier: MIT
//
// Many coroutines have few entry functions and few stacks. Each of these is named once, and
// searched once for the text that the user looks for; a row then costs one look-up.
#include "ps/watch/watch_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "ctp/words.h"

enum { FOUND = 1, NOT_FOUND = 0 };

struct label {
	char *text;
	uint32_t rank;
	bool found;
};

struct watch_names {
	const struct report *report;
	struct label *labels;
	size_t n, capacity;
	struct idmap by_place; // of first function and stack: to labels
	struct idmap stacks;   // stacks to FOUND or NOT_FOUND
	char text[128];
	bool ranked;
};

int watch_names_new(struct watch_names **out, const struct report *r)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->report = r;
	return 0;
}

void watch_names_free(struct watch_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->n; i++)
		free(n->labels[i].text);
	free(n->labels);
	idmap_deinit(&n->by_place);
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
	c.stack = 0;
	if (stacks_recorded(n->report->stacks, r->stack, &c.stack))
		c.stack = 0;
	report_label(n->report, &c, buf, bytes);
}

static struct label *label_of(struct watch_names *n, const struct watch_row *r)
{
	char text[256];
	uint64_t place = (r->c.entry * 0x9e3779b97f4a7c15ULL) ^ r->stack;
	uint32_t at = idmap_get(&n->by_place, place);
	if (at != IDMAP_NONE)
		return &n->labels[at];
	name(n, r, text, sizeof(text));
	char *copy = strdup(text);
	if (!copy || GROW(n->labels, n->n, n->capacity) || idmap_set(&n->by_place, place, (uint32_t)n->n)) {
		free(copy);
		return NULL;
	}
	n->labels[n->n] = (struct label){.text = copy, .found = has(n, copy)};
	n->ranked = false;
	return &n->labels[n->n++];
}

const char *watch_names_label(struct watch_names *n, const struct watch_row *r)
{
	const struct label *l = label_of(n, r);
	return l ? l->text : "?";
}

static int compare(const void *a, const void *b)
{
	const struct label *x = *(struct label *const *)a, *y = *(struct label *const *)b;
	return strcmp(x->text, y->text);
}

static void rank_all(struct watch_names *n)
{
	struct label **v = calloc(n->n + 1, sizeof(*v));
	if (!v)
		return;
	for (size_t i = 0; i < n->n; i++)
		v[i] = &n->labels[i];
	qsort(v, n->n, sizeof(*v), compare);
	for (uint32_t i = 0; i < n->n; i++)
		v[i]->rank = i && !strcmp(v[i]->text, v[i - 1]->text) ? v[i - 1]->rank : i;
	free(v);
	n->ranked = true;
}

uint32_t watch_names_rank(struct watch_names *n, const struct watch_row *r)
{
	const struct label *l = label_of(n, r);
	if (l && !n->ranked)
		rank_all(n);
	return l ? l->rank : UINT32_MAX;
}

const char *watch_names_state(const struct watch_row *r)
{
	return r->closed ? "closed" : report_status(&r->c);
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
		at += (size_t)snprintf(buf + at, bytes - at, "%s%d#%" PRIu32 " %s", i ? ", " : "",
				       c->waits[i].fd, c->waits[i].gen, events);
	}
}

void watch_names_seek(struct watch_names *n, const char *text)
{
	text = text ? text : "";
	if (!strcmp(text, n->text))
		return;
	snprintf(n->text, sizeof(n->text), "%s", text);
	idmap_deinit(&n->stacks);
	for (size_t i = 0; i < n->n; i++)
		n->labels[i].found = has(n, n->labels[i].text);
}

static bool on_stack(struct watch_names *n, uint32_t stack)
{
	uint32_t known = idmap_get(&n->stacks, stack), number = 0;
	struct frames f = {0};
	char function[256];
	if (known != IDMAP_NONE)
		return known == FOUND;
	known = NOT_FOUND;
	if (!stacks_recorded(n->report->stacks, stack, &number) && !report_frames(n->report, number, &f))
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
	    (r->c.recorded && on_stack(n, r->c.recorded)))
		return true;
	if (!r->c.nwaits)
		return false;
	watch_names_waits(&r->c, waits, sizeof(waits));
	return has(n, waits);
}

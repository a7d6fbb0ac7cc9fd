// SPDX-License-Identifier: MIT
//
// Makes a list of names, outermost first, of a profile's site, so that two sites which look the
// same to a reader are the same. A coroutine's stack begins with the function that it was made
// for, whatever its library has below that.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/history/profile.h"
#include "base/grow.h"
#include "base/text.h"

enum { NAME_MOST = 1024 };

static int push(struct profile_stack *s, const struct symbols_frame *frame, const char *name)
{
	char *copy = strdup(name);
	if (copy)
		text_clean(copy);
	if (!copy || GROW(s->items, s->n, s->capacity)) {
		free(copy);
		return -ENOMEM;
	}
	s->items[s->n++] = (struct profile_frame){copy, frame};
	return 0;
}

void profile_stack_deinit(struct profile_stack *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->items[i].name);
	free(s->items);
	*s = (struct profile_stack){0};
}

static int symbols_of(struct profile *p, const struct image *m, struct symbols **out)
{
	struct symbols **have = &p->symbols[m - p->world->images];
	int r = *have ? 0 : frames_symbols(have, p->world, m, p->symfs);
	*out = *have;
	return r;
}

static bool same_function(const struct symbols_frame *a, const struct symbols_frame *b)
{
	return a->symbol && b->symbol && !strcmp(a->symbol, b->symbol) && a->module && b->module &&
	       !strcmp(a->module, b->module);
}

// The root, and how many frames are left above it.
static int push_root(struct profile_stack *s, struct symbols *symbols, const struct profile_site *site,
		     const struct frames *f, size_t *n)
{
	const struct symbols_frame *entry = frames_entry(symbols, site->entry);
	char name[NAME_MOST];
	*n = f->n;
	if (!entry)
		return 0;
	const struct symbols_frame *task = f->n ? frames_task(f, entry) : NULL;
	for (size_t i = f->n; i-- > 0;) {
		if (!same_function(f->items[i], entry))
			continue;
		*n = i;
		entry = f->items[i]; // its line is where it called the next one
		break;
	}
	return push(s, entry, frames_entry_name(entry, task, name, sizeof(name)));
}

static int push_frames(struct profile_stack *s, struct symbols *symbols, const struct profile_site *site)
{
	struct frames f = {0};
	char name[NAME_MOST];
	size_t n = 0;
	int r = frames_read(&f, symbols, site->image, site->stack);
	if (!r)
		r = push_root(s, symbols, site, &f, &n);
	for (size_t i = n; !r && i-- > 0;)
		r = push(s, f.items[i], frames_name(f.items[i], name, sizeof(name)));
	if (!r && site->part == PROFILE_STACK && !f.captured)
		r = push(s, NULL, "[unknown]");
	frames_deinit(&f);
	return r;
}

const char *profile_name_of(const struct profile_site *site, char buf[CTP_NAME_TEXT])
{
	return site->named ? image_name(site->image, site->named, buf) : NULL;
}

int profile_stack_of(struct profile *p, const struct profile_site *site, struct profile_stack *s)
{
	static const char *const parts[] = {[PROFILE_STILL] = "[still running]",
					    [PROFILE_IDLE] = "[idle loop]",
					    [PROFILE_LOST] = "[lost]"};
	struct symbols *symbols;
	char text[64], name[CTP_NAME_TEXT];
	int r = 0;
	*s = (struct profile_stack){0};
	if (site->image && p->world->processes > 1 && site->image->pid) {
		snprintf(text, sizeof(text), "[process %" PRIu64 "]", site->image->pid);
		r = push(s, NULL, text);
	}
	if (!r && profile_name_of(site, name)) {
		snprintf(text, sizeof(text), "\"%s\"", name);
		r = push(s, NULL, text);
	}
	if (!r && site->native && site->part != PROFILE_STACK)
		r = push(s, NULL, "[thread]");
	if (!r && site->image) {
		r = symbols_of(p, site->image, &symbols);
		r = r ? r : push_frames(s, symbols, site);
	} else if (!r && site->part == PROFILE_STACK) {
		snprintf(text, sizeof(text), "0x%" PRIx64, site->pc);
		r = push(s, NULL, site->pc ? text : "[unknown]");
	}
	if (!r && site->part != PROFILE_STACK)
		r = push(s, NULL, parts[site->part]);
	if (r)
		profile_stack_deinit(s);
	return r;
}

// -------------------------------------------------------------------- rows

static int by_frames(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;
	size_t n = x->stack.n < y->stack.n ? x->stack.n : y->stack.n;
	for (size_t i = 0; i < n; i++) {
		int order = strcmp(x->stack.items[i].name, y->stack.items[i].name);
		if (order)
			return order;
	}
	if (x->stack.n != y->stack.n)
		return x->stack.n < y->stack.n ? -1 : 1;
	for (size_t i = 0; i < n; i++) {
		const struct symbols_frame *f = x->stack.items[i].frame, *g = y->stack.items[i].frame;
		if (f && g && f->offset != g->offset)
			return f->offset < g->offset ? -1 : 1;
	}
	return (x->site > y->site) - (x->site < y->site);
}

static bool weighs(const struct profile_site *s)
{
	for (unsigned i = 0; i < PROFILE_WEIGHTS; i++)
		if (s->weight[i])
			return true;
	return false;
}

int profile_rows_of(struct profile *p, struct profile_rows *rows)
{
	int r = 0;
	*rows = (struct profile_rows){.items = calloc(p->n + 1, sizeof(*rows->items))};
	if (!rows->items)
		return -ENOMEM;
	for (size_t i = 0; !r && i < p->n; i++) {
		struct profile_row *row = &rows->items[rows->n];
		if (!weighs(&p->sites[i]))
			continue;
		row->site = &p->sites[i];
		r = profile_stack_of(p, row->site, &row->stack);
		rows->n += !r;
	}
	if (r)
		profile_rows_deinit(rows);
	else
		qsort(rows->items, rows->n, sizeof(*rows->items), by_frames);
	return r;
}

void profile_rows_deinit(struct profile_rows *rows)
{
	while (rows->n)
		profile_stack_deinit(&rows->items[--rows->n].stack);
	free(rows->items);
	*rows = (struct profile_rows){0};
}

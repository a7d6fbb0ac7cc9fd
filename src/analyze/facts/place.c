// SPDX-License-Identifier: MIT
//
// A coroutine library of the program's own has a function or two through which all coroutines suspend. These
// say nothing of where one stands. They are found twice: by what the stacks at which coroutines are or were
// suspended share (of each stack once, however many stand there), and by the file: a coroutine that begins in
// the file in which it switches, with others between, begins and switches in that library.
#include "analyze/facts/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { STACKS_LEAST = 3, STACKS_MOST = 64, SHARED_MOST = 8, BETWEEN_MOST = 3 };

struct place_of {
	const struct image *image;
	uint32_t stack;
	unsigned most;
	bool apart;
};

struct place_shared { // of one image
	bool known;
	size_t n;
	const struct symbols_frame *v[SHARED_MOST];
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_place(const struct symbols_frame *a, const struct symbols_frame *b)
{
	return a == b || (a->symbol && b->symbol && a->line == b->line && same_text(a->file, b->file) &&
			  !strcmp(a->symbol, b->symbol));
}

// The program's own frames whose source is known; without any, its own; without these, all.
static bool keep_own(struct frames *f)
{
	size_t own = 0, sources = 0, kept = 0;
	for (size_t i = 0; i < f->n; i++) {
		own += !frames_is_library(f->items[i]);
		sources += !frames_is_library(f->items[i]) && f->items[i]->file;
	}
	for (size_t i = 0; i < f->n; i++)
		if (!(own && frames_is_library(f->items[i])) && !(sources && !f->items[i]->file))
			f->items[kept++] = f->items[i];
	f->n = kept;
	return own > 0;
}

static void drop_own_layer(struct frames *f)
{
	const char *begins = f->n ? f->items[f->n - 1]->file : NULL;
	size_t n = 0;
	while (begins && n < f->n && same_text(f->items[n]->file, begins))
		n++;
	if (!n || n == f->n)
		return;
	f->n -= n;
	memmove(f->items, f->items + n, f->n * sizeof(*f->items));
	while (same_text(f->items[f->n - 1]->file, begins))
		f->n--;
}

static int read_own(struct frames *f, struct symbols *s, const struct image *m, uint32_t stack, bool *own)
{
	*f = (struct frames){0};
	int e = frames_read(f, s, m, stack);
	if (e) {
		frames_deinit(f);
		return e;
	}
	*own = keep_own(f);
	drop_own_layer(f);
	return 0;
}

// ------------------------------------------------------------- what they share

static bool holds(const uint32_t *v, size_t n, uint32_t stack)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == stack)
			return true;
	return false;
}

// The stacks at which coroutines are suspended.
static size_t suspended_of(const struct image *m, uint32_t v[STACKS_MOST])
{
	size_t n = 0;
	for (size_t i = 0; i < m->stations.n && n < STACKS_MOST; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (s->entity == CTP_COROUTINE && s->life == CTP_SUSPENDED && s->stack &&
		    !holds(v, n, s->stack))
			v[n++] = s->stack;
	}
	return n;
}

// These, then those from which some were resumed.
static size_t stacks_of(const struct image *m, uint32_t v[STACKS_MOST])
{
	size_t n = suspended_of(m, v);
	for (size_t i = 1; i < m->sites.n && n < STACKS_MOST; i++) {
		const struct ctp_site *s = table_row(&m->sites, i);
		if (s->resumed && !holds(v, n, (uint32_t)i))
			v[n++] = (uint32_t)i;
	}
	return n;
}

// The frame that most of those still alike have at this depth; NULL: they part here.
static const struct symbols_frame *shared_at(const struct frames *v, const bool *alike, size_t n,
					     size_t depth, size_t all)
{
	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		for (size_t k = 0; alike[i] && v[i].n > depth && k < n; k++)
			same += alike[k] && v[k].n > depth &&
				same_place(v[i].items[depth], v[k].items[depth]);
		if (2 * same > all)
			return v[i].items[depth];
	}
	return NULL;
}

static bool same_frames(const struct frames *a, const struct frames *b)
{
	size_t i = 0;
	while (i < a->n && i < b->n && same_place(a->items[i], b->items[i]))
		i++;
	return i == a->n && i == b->n;
}

// Those that read alike count once.
static size_t distinct(const struct frames *v, bool *alike, size_t n)
{
	size_t all = 0;
	for (size_t i = 0; i < n; i++) {
		alike[i] = v[i].n > 0;
		for (size_t k = 0; alike[i] && k < i; k++)
			alike[i] = !alike[k] || !same_frames(&v[i], &v[k]);
		all += alike[i];
	}
	return all;
}

// Up to the last at which some part.
static void compare(struct place_shared *out, const struct frames *v, size_t n)
{
	bool alike[STACKS_MOST];
	size_t all = distinct(v, alike, n), left = all, parted = 0;
	while (all >= STACKS_LEAST && left > 1 && out->n < SHARED_MOST) {
		const struct symbols_frame *at = shared_at(v, alike, n, out->n, all);
		if (!at)
			break;
		size_t same = 0;
		for (size_t i = 0; i < n; i++) {
			alike[i] = alike[i] && v[i].n > out->n && same_place(v[i].items[out->n], at);
			same += alike[i];
		}
		parted = same < left ? out->n : parted;
		left = same;
		out->v[out->n++] = at;
	}
	out->n = left > 1 ? out->n : parted; // these part beyond it
}

static void find_shared(struct place_shared *out, struct symbols *s, const struct image *m)
{
	struct frames v[STACKS_MOST];
	bool own;
	uint32_t stacks[STACKS_MOST];
	size_t n = stacks_of(m, stacks);
	int e = 0;
	out->known = true;
	for (size_t i = 0; i < n; i++)
		e |= read_own(&v[i], s, m, stacks[i], &own);
	if (!e)
		compare(out, v, n);
	for (size_t i = 0; i < n; i++)
		frames_deinit(&v[i]);
}

static const struct place_shared *shared_of(struct report *r, const struct image *m)
{
	size_t at = (size_t)(m - r->world->images);
	if (!r->shared)
		r->shared = calloc(r->world->nimages, sizeof(*r->shared));
	if (!r->shared)
		return NULL;
	if (!r->shared[at].known)
		find_shared(&r->shared[at], r->symbols[at], m);
	return &r->shared[at];
}

// ------------------------------------------------------------- what is said

// So many of its frames tell it from all others that are suspended and have the first `n` in common with it.
static size_t apart(struct symbols *s, const struct image *m, uint32_t stack, const struct frames *f,
		    size_t n)
{
	uint32_t stacks[STACKS_MOST];
	size_t nstacks = suspended_of(m, stacks), all = n;
	for (size_t i = 0; i < nstacks; i++) {
		struct frames o;
		bool own;
		size_t same = 0;
		if (stacks[i] == stack || read_own(&o, s, m, stacks[i], &own))
			continue;
		while (same < f->n && same < o.n && same_place(f->items[same], o.items[same]))
			same++;
		if (same >= all && same < f->n)
			all = same + 1;
		frames_deinit(&o);
	}
	return all;
}

static size_t add_frame(const struct symbols_frame *e, const char *before, char *buf, size_t bytes, size_t at)
{
	char name[160];
	if (at < bytes)
		at += (size_t)snprintf(buf + at, bytes - at, "%s%s", before,
				       frames_name(e, name, sizeof(name)));
	if (e->file && at < bytes)
		at += (size_t)snprintf(buf + at, bytes - at, " %s:%d", file_base(e->file), e->line);
	return at;
}

static bool text(struct report *r, const struct place_of *p, char *buf, size_t bytes)
{
	const struct image *m = p->image;
	struct symbols *s = r->symbols ? r->symbols[m - r->world->images] : NULL;
	struct frames f;
	size_t first = 0, at = 0, end, all;
	bool own = false;
	*buf = 0;
	if (!s || read_own(&f, s, m, p->stack, &own))
		return false;
	const struct place_shared *shared = shared_of(r, m);
	while (shared && first < shared->n && first < f.n && same_place(f.items[first], shared->v[first]))
		first++;
	first -= first > 0; // the last one may well be what it waits in
	end = first + p->most < f.n ? first + p->most : f.n;
	all = p->apart ? apart(s, m, p->stack, &f, end) : end;
	for (size_t i = first; i < end || (i < all && all - end <= BETWEEN_MOST); i++)
		at = add_frame(f.items[i], i > first ? " <- " : " in ", buf, bytes, at);
	if (all - end > BETWEEN_MOST)
		add_frame(f.items[all - 1], " <- ... <- ", buf, bytes, at);
	frames_deinit(&f);
	return own;
}

bool place_text(struct report *r, const struct image *m, uint32_t stack, unsigned most, char *buf,
		size_t bytes)
{
	return text(r, &(struct place_of){m, stack, most, false}, buf, bytes);
}

bool place_text_apart(struct report *r, const struct image *m, uint32_t stack, char *buf, size_t bytes)
{
	return text(r, &(struct place_of){m, stack, PLACE_FRAMES, true}, buf, bytes);
}

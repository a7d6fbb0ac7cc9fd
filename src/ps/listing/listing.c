// SPDX-License-Identifier: MIT
//
// Rows, their stacks (each once) and groups. Two rows are alike if state, kind, first function and
// stack are the same.
#include "ps/listing/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "base/text.h"
#include "ps/listing/fd_names.h"
#include "ps/listing/pooled.h"

void listing_again(struct listing *l)
{
	listing_fds_free(l->fds);
	l->fds = NULL;
	l->n = l->nthreads = l->ngroups = 0;
	l->finished = l->freed = l->unsettled = l->on_cpu = l->inside = 0;
	memset(l->counts, 0, sizeof(l->counts));
	*l->partial = 0;
}

int listing_add(struct listing *l, const struct listing_row *row)
{
	int e = GROW(l->v, l->n, l->capacity);
	if (!e)
		l->v[l->n++] = *row;
	return e;
}

uint32_t listing_stack(struct listing *l, const uint64_t *pcs, size_t n)
{
	bool anew;
	return n ? intern(&l->stacks, pcs, n * sizeof(*pcs), &anew) : 0;
}

// An address of 0 before them marks it.
uint32_t listing_async_stack(struct listing *l, const uint64_t *pcs, size_t n)
{
	uint64_t *marked = calloc(n + 1, sizeof(*marked));
	if (!marked)
		return 0;
	memcpy(marked + 1, pcs, n * sizeof(*pcs));
	uint32_t stack = listing_stack(l, marked, n + 1);
	free(marked);
	return stack;
}

const void *listing_bytes(struct listing *l, const void *bytes, size_t n)
{
	bool anew;
	uint32_t i = intern(&l->words, bytes, n, &anew);
	return i ? l->words.keys[i - 1].bytes : NULL;
}

const char *listing_word(struct listing *l, const char *text)
{
	return listing_bytes(l, text, strlen(text) + 1);
}

void listing_say(struct listing *l, struct listing_said *s, const char *text)
{
	const char *word = s->n + 1 < LISTING_EVIDENCE ? listing_word(l, text) : NULL;
	if (word)
		s->v[s->n++] = word;
}

const char *const *listing_evidence(struct listing *l, const struct listing_said *s)
{
	static const char *const none[] = {NULL};
	const void *shared = listing_bytes(l, s->v, sizeof(s->v));
	return shared ? (const char *const *)shared : none;
}

bool listing_wanted(const struct listing_wants *w, uint64_t id)
{
	for (size_t i = 0; i < w->nids; i++)
		if (w->ids[i] == id)
			return true;
	return !w->nids;
}

size_t listing_stackless(const struct listing *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].stackless;
	return n;
}

size_t listing_pcs(const struct listing *l, uint32_t stack, const uint64_t **pcs)
{
	if (!stack || stack > l->stacks.n)
		return 0;
	*pcs = (const uint64_t *)(const void *)l->stacks.keys[stack - 1].bytes;
	return l->stacks.keys[stack - 1].n / sizeof(**pcs);
}

int listing_frames(const struct listing *l, uint32_t stack, struct frames *out)
{
	const struct frames_own none = {0, 0};
	const uint64_t *pcs = NULL;
	size_t n = listing_pcs(l, stack, &pcs);
	bool async = n && !pcs[0];
	pcs += async;
	n -= async;
	*out = (struct frames){.captured = n > 0, .flags = async ? FRAMES_OUTERMOST : 0};
	return frames_add(out, l->symbols, &none, pcs, n);
}

const char *listing_label(const struct listing *l, const struct listing_row *r, char *buf, size_t bytes)
{
	const struct symbols_frame *entry = frames_entry(l->symbols, r->entry), *own = NULL;
	struct frames f = {0};
	if (r->entry && r->stack && !listing_frames(l, r->stack, &f))
		own = frames_task(&f, entry);
	if (r->entry)
		frames_entry_name(entry, own, buf, bytes);
	else
		snprintf(buf, bytes, "(its function is not known)");
	frames_deinit(&f);
	text_clean(buf);
	return buf;
}

const char *listing_state_word(const struct listing_row *r)
{
	static const char *const words[] = {
		[LISTING_SUSPENDED] = "suspended",   [LISTING_POOLED] = "suspended",
		[LISTING_CREATED] = "created",       [LISTING_RUNNING] = "running",
		[LISTING_INITIAL] = "initial",       [LISTING_FINAL] = "final",
		[LISTING_DESTROYING] = "destroying", [LISTING_MAY_HAVE_ENDED] = "may have ended"};
	return words[r->state];
}

int listing_seen_add(struct listing_seen *s, uint64_t id, uint64_t at)
{
	int e = GROW(s->v, s->n, s->room);
	if (!e)
		s->v[s->n++] = (struct listing_seen_one){id, at};
	return e;
}

bool listing_seen_has(const struct listing_seen *s, uint64_t id, uint64_t at)
{
	size_t i = FIRST_NOT(s->n, k, s->v[k].id < id);
	return !s->known || (i < s->n && s->v[i].id == id && s->v[i].at == at);
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_kind(const struct listing_row *a, const struct listing_row *b)
{
	int r = order(!a->lost, !b->lost);
	if (!r)
		r = order((uint64_t)a->state, (uint64_t)b->state);
	if (!r)
		r = order(a->stackless, b->stackless);
	if (!r)
		r = order(a->entry, b->entry);
	if (!r)
		r = order(a->stack, b->stack);
	if (!r)
		r = order(a->suspended_at, b->suspended_at);
	if (!r && a->state == LISTING_RUNNING)
		r = order(a->id, b->id);
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct listing_row *x = a, *y = b;
	int r = by_kind(x, y);
	return r ? r : order(x->id, y->id);
}

// The largest first, in each state.
static int compare_groups(const void *a, const void *b)
{
	const struct listing_group *x = a, *y = b;
	int r = order(!x->first->lost, !y->first->lost);
	if (!r)
		r = order((uint64_t)x->first->state, (uint64_t)y->first->state);
	if (!r)
		r = order(y->n, x->n);
	return r ? r : order(x->first->id, y->first->id);
}

int listing_finish(struct listing *l, bool apart)
{
	int e = pooled_decide(l);
	if (e)
		return e;
	for (size_t i = 0; i < l->n; i++)
		l->counts[l->v[i].state]++;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare);
	l->groups = calloc(l->n + 1, sizeof(*l->groups));
	if (!l->groups)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		if (apart || !i || by_kind(&l->v[i - 1], &l->v[i]))
			l->groups[l->ngroups++].first = &l->v[i];
		l->groups[l->ngroups - 1].n++;
	}
	if (l->ngroups && !apart)
		qsort(l->groups, l->ngroups, sizeof(*l->groups), compare_groups);
	return 0;
}

const struct symbols_frame *listing_one_creator(const struct listing_group *g)
{
	for (size_t i = 1; i < g->n; i++)
		if (g->first[i].created_at != g->first->created_at)
			return NULL;
	return g->first->created_at;
}

void listing_deinit(struct listing *l)
{
	symbols_free(l->symbols);
	listing_fds_free(l->fds);
	intern_deinit(&l->stacks);
	intern_deinit(&l->words);
	free(l->v);
	free(l->groups);
	free(l->threads);
	*l = (struct listing){0};
}

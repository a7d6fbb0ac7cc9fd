// SPDX-License-Identifier: MIT
//
// Bins of time. Only the finest level gets every interval; a bin that is complete is added to
// the next level as a whole. A few counters find who had most of a bin (a newcomer replaces
// the smallest one and inherits its count as a possible error), so memory does not grow with
// the number of coroutines.
#include "analyze/history/bins.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void bins_init(struct bins *b, uint64_t span_ns, unsigned finest, unsigned nlevels)
{
	*b = (struct bins){.nlevels = nlevels};
	uint64_t width = span_ns / finest + 1;
	for (unsigned i = 0; i < nlevels; i++, width *= BINS_STEP)
		b->levels[i].width = width;
}

static unsigned percent(uint64_t part, uint64_t whole)
{
	unsigned share = (unsigned)((part * 100 + whole / 2) / whole);
	return share > 100 ? 100 : share || !part ? share : 1;
}

static bool same(const struct bins_cell *a, const struct bins_cell *b)
{
	return a->transitions == b->transitions && !memcmp(a->share, b->share, sizeof(a->share)) &&
	       a->top_share == b->top_share && a->top == b->top;
}

static void push(struct bins *b, struct bins_level *l, uint64_t bin, struct bins_cell cell)
{
	if (l->next < bin) {
		uint64_t gap = bin - l->next;
		l->next = bin;
		push(b, l, bin, (struct bins_cell){.repeat = (uint32_t)gap});
	}
	if (l->n && same(&l->cells[l->n - 1], &cell))
		l->cells[l->n - 1].repeat += cell.repeat;
	else if (GROW(l->cells, l->n, l->capacity))
		b->error = -ENOMEM;
	else
		l->cells[l->n++] = cell;
}

static void count(struct bins_level *l, uint64_t id, uint64_t ns, uint64_t error)
{
	struct bins_top *least = l->tops;
	if (!id)
		return;
	for (unsigned i = 0; i < l->ntops; i++) {
		if (l->tops[i].id == id) {
			l->tops[i].ns += ns;
			l->tops[i].error += error;
			return;
		}
		least = l->tops[i].ns < least->ns ? &l->tops[i] : least;
	}
	if (l->ntops < BINS_TOPS)
		l->tops[l->ntops++] = (struct bins_top){id, ns, error};
	else
		*least = (struct bins_top){id, least->ns + ns, least->ns + error};
}

static struct bins_cell cell_of(const struct bins_level *l)
{
	const struct bins_top *top = NULL;
	struct bins_cell c = {.repeat = 1, .transitions = l->transitions};
	for (unsigned k = 0; k < BINS_KINDS; k++)
		c.share[k] = (uint8_t)percent(l->ns[k], l->width);
	for (unsigned i = 0; i < l->ntops; i++)
		if (!top || l->tops[i].ns - l->tops[i].error > top->ns - top->error)
			top = &l->tops[i];
	if (top && (top->ns - top->error) * 5 >= l->width) {
		c.top = top->id;
		c.top_share = (uint8_t)percent(top->ns - top->error, l->width);
	}
	return c;
}

static void go_to(struct bins *b, unsigned level, uint64_t bin);

static bool is_empty(const struct bins_level *l)
{
	return !l->transitions && !(l->ns[0] | l->ns[1] | l->ns[2]);
}

// The open bin is done.
static void close_bin(struct bins *b, unsigned level)
{
	struct bins_level *l = &b->levels[level];
	if (is_empty(l))
		return;
	push(b, l, l->open, cell_of(l));
	l->next = l->open + 1;
	if (level + 1 < b->nlevels) {
		struct bins_level *up = &b->levels[level + 1];
		go_to(b, level + 1, l->open / BINS_STEP);
		for (unsigned k = 0; k < BINS_KINDS; k++)
			up->ns[k] += l->ns[k];
		up->transitions += l->transitions;
		for (unsigned i = 0; i < l->ntops; i++)
			count(up, l->tops[i].id, l->tops[i].ns, l->tops[i].error);
	}
	memset(l->ns, 0, sizeof(l->ns));
	l->transitions = 0;
	l->ntops = 0;
}

static void go_to(struct bins *b, unsigned level, uint64_t bin)
{
	if (bin <= b->levels[level].open)
		return;
	close_bin(b, level);
	b->levels[level].open = bin;
}

static void add(struct bins *b, unsigned level, unsigned kind, uint64_t id, uint64_t from, uint64_t to)
{
	struct bins_level *l = &b->levels[level];
	while (from < to) {
		uint64_t begin = l->open * l->width;
		from = from < begin ? begin : from;
		if (from >= to)
			return;
		go_to(b, level, from / l->width);
		begin = l->open * l->width;
		uint64_t whole = from == begin ? (to - from) / l->width : 0;
		if (whole > 1 && is_empty(l)) {
			struct bins_cell c = {
				.repeat = (uint32_t)whole, .top = id, .top_share = id ? 100 : 0};
			c.share[kind] = 100;
			push(b, l, l->open, c);
			l->next = l->open + whole;
			if (level + 1 < b->nlevels)
				add(b, level + 1, kind, id, from, from + whole * l->width);
			l->open += whole;
			from += whole * l->width;
			continue;
		}
		uint64_t end = begin + l->width, step = (to < end ? to : end) - from;
		l->ns[kind] += step;
		count(l, id, step, 0);
		from += step;
	}
}

void bins_add(struct bins *b, unsigned kind, uint64_t id, uint64_t from, uint64_t to)
{
	add(b, 0, kind, id, from, to);
}

void bins_transition(struct bins *b, uint64_t at)
{
	go_to(b, 0, at / b->levels[0].width);
	b->levels[0].transitions++;
}

void bins_end(struct bins *b)
{
	for (unsigned i = 0; i < b->nlevels; i++)
		close_bin(b, i);
}

void bins_deinit(struct bins *b)
{
	for (unsigned i = 0; i < BINS_LEVELS; i++)
		free(b->levels[i].cells);
	*b = (struct bins){0};
}

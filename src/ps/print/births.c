// SPDX-License-Identifier: MIT
//
// Rows are asked for in any order, but those of neighbours lie side by side: a piece of the table is read at
// a time.
#include "ps/print/births.h"

#include <string.h>

#include "ctp/births.h"

enum { PIECE = 512 }; // rows

struct reading {
	const struct source *from;
	const struct ctp_ext *x;
	uint64_t first; // row of the piece
	bool have;
	struct ctp_birth rows[PIECE];
};

static bool find(struct reading *g, uint64_t at, struct ctp_birth *out)
{
	uint64_t group = ctp_births_group(at, g->x->frames_max), first = group & ~(uint64_t)(PIECE - 1);
	if (!g->have || g->first != first) {
		g->first = first;
		g->have = !source_read(g->from, g->x->frames_off + first * sizeof(*g->rows), g->rows,
				       sizeof(g->rows));
	}
	for (unsigned i = 0; g->have && i < CTP_BIRTHS_GROUP; i++) {
		*out = g->rows[group - first + i];
		if (out->at == at)
			return true;
	}
	return false;
}

// The innermost function of the program's own but for the coroutine's: who called that.
static const struct symbols_frame *made_at(struct report *r, uint32_t stack, const char *label)
{
	struct frames f = {0};
	uint32_t number = 0;
	char name[128];
	const struct symbols_frame *at = NULL;
	if (!stacks_recorded(r->stacks, stack, &number) && !report_frames(r, number, &f))
		for (size_t i = 0; i < f.n && !at; i++)
			if (!frames_is_library(f.items[i]) &&
			    strcmp(frames_name(f.items[i], name, sizeof(name)), label))
				at = f.items[i];
	frames_deinit(&f);
	return at;
}

void births_add(struct listing *l, struct report *r)
{
	const struct ctp_ext *x = &r->found->header.ext;
	struct reading g = {.from = &r->found->region, .x = x};
	uint64_t entry = 0;
	uint32_t stack = 0;
	const struct symbols_frame *at = NULL;
	char label[128];
	if (!x->frames_off || x->frames_max < PIECE)
		return;
	for (size_t i = 0; i < l->n; i++) {
		struct listing_row *w = &l->v[i];
		struct ctp_birth b;
		if (!w->stackless || !find(&g, w->id, &b))
			continue;
		if (b.stack != stack || w->entry != entry) // a million may have been made at one place
			at = made_at(r, b.stack, listing_label(l, w, label, sizeof(label)));
		stack = b.stack;
		entry = w->entry;
		w->created_at = at;
		w->creator = b.creator;
		w->age_ns = tables_age_ns(&r->tables, b.created);
	}
}

// SPDX-License-Identifier: MIT
//
// Rows of stacks, frames and descriptors. Stacks are all of each image's index, and those that a
// finding has from elsewhere (slices.jsonl, sets.jsonl).
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "analyze/export/source.h"
#include "analyze/report/frames.h"
#include "base/grow.h"
#include "ctp/words.h"

typedef int each_stack(struct source *s, const struct image *m, uint32_t stack, const struct frames *f);

static int read_one(struct source *s, const struct image *m, uint32_t stack, each_stack *each)
{
	struct symbols *symbols = s->report->symbols[m - s->world->images];
	struct frames f = {0};
	int r = symbols ? frames_read(&f, symbols, m, stack) : 0;
	if (!r && f.captured)
		r = each(s, m, stack, &f);
	frames_deinit(&f);
	return r;
}

// Those of findings that no index has, each once.
static int read_others(struct source *s, each_stack *each)
{
	struct idmap told = {0};
	int r = 0;
	for (size_t i = 0; !r && i < s->report->nfindings; i++) {
		const struct verdict_case *c = s->report->findings[i].cases[0];
		const struct image *m = c->about.image;
		uint32_t all[] = {c->stack, c->actor.stack, c->opener.stack};
		for (size_t k = 0; !r && k < sizeof(all) / sizeof(*all); k++) {
			uint64_t id = (uint64_t)source_stack_id(m, all[k]);
			if (!all[k] || all[k] < m->stack_index.n || idmap_get(&told, id) != IDMAP_NONE)
				continue;
			r = idmap_set(&told, id, 1);
			r = r ? r : read_one(s, m, all[k], each);
		}
	}
	idmap_deinit(&told);
	return r;
}

static int read_all(struct source *s, each_stack *each)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->world->nimages; i++) {
		const struct image *m = &s->world->images[i];
		for (size_t id = 1; !r && m->has_tables && id < m->stack_index.n; id++)
			r = read_one(s, m, (uint32_t)id, each);
	}
	return r ? r : read_others(s, each);
}

static int put_stack(struct source *s, const struct image *m, uint32_t stack, const struct frames *f)
{
	char name[2048];
	const struct symbols_frame *own = frames_first_own(f);
	source_row(s, SCHEMA_STACKS);
	row_int(&s->row, source_stack_id(m, stack));
	row_count(&s->row, f->n);
	row_text(&s->row, own ? frames_name(own, name, sizeof(name)) : NULL);
	row_text(&s->row, own ? own->file : NULL);
	row_some(&s->row, own && own->line > 0 ? (uint64_t)own->line : 0);
	row_bool(&s->row, f->flags & CTP_STACK_GUESSED);
	row_bool(&s->row, f->flags & CTP_STACK_TRUNCATED);
	return source_done(s);
}

static int put_frames(struct source *s, const struct image *m, uint32_t stack, const struct frames *f)
{
	char pc[24], offset[24];
	int r = 0;
	for (size_t i = 0; !r && i < f->n; i++) {
		const struct symbols_frame *at = f->items[i];
		snprintf(pc, sizeof(pc), "0x%" PRIx64, at->pc);
		snprintf(offset, sizeof(offset), "0x%" PRIx64, at->offset);
		source_row(s, SCHEMA_FRAMES);
		row_int(&s->row, source_stack_id(m, stack));
		row_count(&s->row, i);
		row_text(&s->row, pc);
		row_text(&s->row, at->module);
		row_text(&s->row, offset);
		row_text(&s->row, at->symbol);
		row_text(&s->row, at->file);
		row_some(&s->row, at->line > 0 ? (uint64_t)at->line : 0);
		row_bool(&s->row, at->inlined);
		r = source_done(s);
	}
	return r;
}

int source_stacks(struct source *s)
{
	return read_all(s, put_stack);
}

int source_frames(struct source *s)
{
	return read_all(s, put_frames);
}

// ----------------------------------------------------------------- descriptors

static void put_party(struct source *s, const struct image *m, const char *call, uint64_t ticks, uint64_t who,
		      uint32_t stack)
{
	row_text(&s->row, call);
	source_time(s, world_ns(s->world, ticks));
	row_some(&s->row, who);
	source_stack(s, m, stack);
}

static int put_descriptor(struct source *s, const struct image *m, int64_t number, const struct ctp_fd *f)
{
	bool closed = f->life == CTP_FD_CLOSED;
	source_row(s, SCHEMA_DESCRIPTORS);
	row_some(&s->row, m->pid);
	row_count(&s->row, m->index);
	row_int(&s->row, number);
	row_count(&s->row, f->gen);
	row_text(&s->row, words_kind(f->kind));
	row_text(&s->row, descriptors_name(&m->descriptors, number, f->gen));
	row_text(&s->row, closed ? "closed" : "open");
	put_party(s, m, words_call(f->opened_how), f->opened, f->opener, f->opener_stack);
	if (closed)
		put_party(s, m, words_call(f->closed_how), f->closed, f->closer, f->closer_stack);
	else
		put_party(s, m, NULL, 0, 0, 0);
	if (f->reg_epfd >= 0 && f->reg_time)
		row_int(&s->row, f->reg_epfd);
	else
		row_null(&s->row);
	return source_done(s);
}

int source_descriptors(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->world->nimages; i++) {
		const struct image *m = &s->world->images[i];
		for (size_t k = 0; !r && m->has_tables && k < m->fds.n; k++)
			r = put_descriptor(s, m, (int64_t)table_index(&m->fds, k), table_row(&m->fds, k));
	}
	return r;
}

// SPDX-License-Identifier: MIT
//
// The order of an export: tables one after the other, the row in traces last. Where the target takes
// rows of several tables at once, one walk over the history makes all of them; else each has its own.
#include "analyze/export/source.h"

#include <errno.h>
#include <string.h>

#include "analyze/report/frames.h"
#include "base/grow.h"

typedef int source_table(struct source *s);

static source_table *const makers[SCHEMA_TABLES] = {
	[SCHEMA_COROUTINES] = source_coroutines, [SCHEMA_SITES] = source_sites,
	[SCHEMA_HISTOGRAMS] = source_histograms, [SCHEMA_DESCRIPTORS] = source_descriptors,
	[SCHEMA_STACKS] = source_stacks,         [SCHEMA_FRAMES] = source_frames,
	[SCHEMA_FINDINGS] = source_findings,     [SCHEMA_FINDING_COROUTINES] = source_finding_coroutines,
	[SCHEMA_EVIDENCE] = source_evidence,     [SCHEMA_TIMELINES] = source_timelines,
	[SCHEMA_FACTS] = source_facts,           [SCHEMA_TRACES] = source_traces,
};

int source_open(struct source *s, const struct report *report, struct target *to)
{
	*s = (struct source){.world = report->world, .report = report, .to = to};
	s->sites = calloc(report->world->nimages + 1, sizeof(*s->sites));
	return s->sites ? 0 : -ENOMEM;
}

void source_close(struct source *s)
{
	for (size_t i = 0; s->sites && i < s->world->nimages; i++) {
		for (size_t k = 0; s->sites[i] && k < s->world->images[i].stack_index.n; k++)
			free(s->sites[i][k].name);
		free(s->sites[i]);
	}
	free(s->sites);
	intern_deinit(&s->names_by);
	for (size_t i = 0; i < s->nnames; i++)
		free(s->names[i]);
	free(s->names);
	free(s->entities);
	free(s->sums);
	free(s->buckets);
	idmap_deinit(&s->by_id);
	idmap_deinit(&s->sum_of);
	idmap_deinit(&s->bucket_of);
	row_deinit(&s->row);
	*s = (struct source){0};
}

// ------------------------------------------------------------------- rows

void source_row(struct source *s, enum schema_table_id id)
{
	row_begin(&s->row, &schema_tables[id]);
	if (id != SCHEMA_TRACES)
		row_int(&s->row, s->trace);
}

int source_done(struct source *s)
{
	int r = row_done(&s->row);
	if (r == -EINVAL)
		return target_fail(s->to, r, "a row of %s is not as the schema has it (column %u)",
				   s->row.table->name, s->row.n);
	return r ? r : s->to->ops->row(s->to, &s->row);
}

void source_time(struct source *s, uint64_t ns)
{
	if (ns)
		row_int(&s->row, (int64_t)(ns - s->world->start_ns));
	else
		row_null(&s->row);
}

void source_stack(struct source *s, const struct image *m, uint32_t stack)
{
	unsigned n = 0;
	if (m && stack)
		image_stack(m, stack, &n, NULL);
	if (n)
		row_int(&s->row, source_stack_id(m, stack));
	else
		row_null(&s->row);
}

// ------------------------------------------------------------------- places

static int find_site(struct source *s, const struct image *m, uint32_t stack, struct source_site *to)
{
	struct symbols *symbols = s->report->symbols[m - s->world->images];
	struct frames f = {0};
	char name[2048];
	int r = symbols ? frames_read(&f, symbols, m, stack) : 0;
	const struct symbols_frame *own = r ? NULL : frames_first_own(&f);
	if (own && !(to->name = strdup(frames_name(own, name, sizeof(name)))))
		r = -ENOMEM;
	to->frame = own;
	frames_deinit(&f);
	return r;
}

const struct source_site *source_site(struct source *s, const struct image *m, uint32_t stack)
{
	static const struct source_site nowhere;
	if (!m || !m->has_tables || !stack || stack >= m->stack_index.n)
		return &nowhere;
	struct source_site **all = &s->sites[m - s->world->images];
	if (!*all && !(*all = calloc(m->stack_index.n, sizeof(**all))))
		return NULL;
	struct source_site *at = &(*all)[stack];
	return at->name || !find_site(s, m, stack, at) ? at : NULL;
}

int source_put_site(struct source *s, const struct image *m, uint32_t stack)
{
	const struct source_site *at = source_site(s, m, stack);
	if (!at)
		return -ENOMEM;
	row_text(&s->row, at->name);
	row_text(&s->row, at->frame ? at->frame->file : NULL);
	row_some(&s->row, at->frame && at->frame->line > 0 ? (uint64_t)at->frame->line : 0);
	return 0;
}

// ------------------------------------------------------------------ the tables

#define BIT(id) (1u << (id))
#define OF_HISTORY (BIT(SCHEMA_SWITCHES) | BIT(SCHEMA_WAITS) | BIT(SCHEMA_SLICES) | BIT(SCHEMA_EVENTS))
#define COUNTED (BIT(SCHEMA_COROUTINES) | BIT(SCHEMA_SITES) | BIT(SCHEMA_HISTOGRAMS))

static int walk(struct source *s, uint32_t tables)
{
	const struct target_ops *ops = s->to->ops;
	int r = 0;
	for (unsigned i = 0; !r && i < SCHEMA_TABLES; i++)
		if (tables >> i & 1)
			r = ops->table(s->to, &schema_tables[i]);
	s->putting = tables;
	if (!r)
		r = source_history(s);
	s->counting = false;
	for (unsigned i = 0; !r && i < SCHEMA_TABLES; i++)
		if (tables >> i & 1)
			r = ops->end(s->to, &schema_tables[i]);
	return r;
}

static int put_history(struct source *s)
{
	uint32_t tables = s->wanted & OF_HISTORY;
	int r = 0;
	s->counting = s->wanted & COUNTED;
	if (s->world->form == WORLD_CORE) // no walk, but tables that are there
		tables = 0;
	if (s->to->ops->at_once || !tables)
		return tables || s->counting ? walk(s, tables) : 0;
	for (unsigned i = 0; !r && i < SCHEMA_TABLES; i++)
		if (tables >> i & 1)
			r = walk(s, BIT(i));
	return r;
}

int source_put(struct source *s)
{
	const struct target_ops *ops = s->to->ops;
	int r = put_history(s);
	for (unsigned i = 0; !r && i < SCHEMA_TABLES; i++) {
		if (!makers[i] || !source_wants(s, i))
			continue;
		r = ops->table(s->to, &schema_tables[i]);
		if (!r)
			r = makers[i](s);
		if (!r)
			r = ops->end(s->to, &schema_tables[i]);
	}
	return r;
}

// SPDX-License-Identifier: MIT
//
// Rows of coroutines, sites and histograms. Of a coroutine the last tables know best; those whose
// stations were taken by others since are known from the history alone.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/source.h"
#include "analyze/report/accounting.h"
#include "base/grow.h"

static const char *const lives[] = {
	[CTP_NONE] = "created",    [CTP_CREATED] = "created",   [CTP_SUSPENDED] = "suspended",
	[CTP_RUNNING] = "running", [CTP_FINISHED] = "finished", [CTP_DESTROYED] = "destroyed",
};

struct named {
	uint64_t image, entry, stack;
};

// The function that it was made for, as the report calls it: a text that lives as long as the source.
static int name_of(struct source *s, const struct image *m, const struct ctp_state *e, uint64_t entry,
		   const char **out)
{
	struct named key = {m->index, entry, e ? e->stack : 0};
	char name[2048];
	bool anew;
	uint32_t n = intern(&s->names_by, &key, sizeof(key), &anew);
	struct symbols *symbols = s->report->symbols[m - s->world->images];
	if (!n)
		return -ENOMEM;
	if (anew) {
		if (GROW(s->names, s->nnames, s->names_capacity))
			return -ENOMEM;
		const char *is =
			e ? report_name(s->report, m, e, name, sizeof(name)) :
			    frames_entry_name(frames_entry(symbols, entry), NULL, name, sizeof(name));
		if (!(s->names[s->nnames] = strdup(is)))
			return -ENOMEM;
		s->nnames++;
	}
	*out = s->names[n - 1];
	return 0;
}

static int put_entry(struct source *s, const struct image *m, const struct ctp_state *e, uint64_t entry)
{
	const char *name = NULL;
	struct symbols *symbols = m ? s->report->symbols[m - s->world->images] : NULL;
	const struct symbols_frame *f = entry && symbols ? frames_entry(symbols, entry) : NULL;
	int r = f ? name_of(s, m, e, entry, &name) : 0;
	row_text(&s->row, name);
	row_text(&s->row, f ? f->file : NULL);
	row_some(&s->row, f && f->line > 0 ? (uint64_t)f->line : 0);
	return r;
}

static void put_account(struct source *s, const struct image *m, size_t row)
{
	const unsigned char *all = s->report->accounts ? s->report->accounts[m - s->world->images] : NULL;
	row_text(&s->row, all && all[row] ? accounting_words[all[row]] : NULL);
}

static void put_spent(struct source *s, const struct source_entity *c)
{
	row_count(&s->row, c ? c->ran_ns : 0);
	row_count(&s->row, c ? c->waited_ns : 0);
	row_count(&s->row, c ? c->longest_slice_ns : 0);
	row_count(&s->row, c ? c->longest_wait_ns : 0);
}

static int put_creator(struct source *s, const struct image *m, uint64_t creator, uint32_t stack)
{
	const struct source_site *at = source_site(s, m, stack);
	row_some(&s->row, creator);
	row_text(&s->row, at ? at->name : NULL);
	source_stack(s, m, stack);
	return at ? 0 : -ENOMEM;
}

static void put_wait_fd(struct source *s, const struct ctp_state *e)
{
	if (e->life == CTP_SUSPENDED && image_nwaits(e) && e->waits[0].fd >= 0) {
		row_int(&s->row, e->waits[0].fd);
		row_some(&s->row, e->waits[0].gen);
	} else {
		row_null(&s->row);
		row_null(&s->row);
	}
}

// One of the tables; c: what the history tells of it, or NULL.
static int put_state(struct source *s, const struct image *m, size_t at, const struct source_entity *c)
{
	const struct ctp_state *e = image_state(m, at);
	char name[CTP_NAME_TEXT];
	bool over = e->life == CTP_FINISHED || e->life == CTP_DESTROYED;
	unsigned life = m->replaced && !over ? CTP_DESTROYED : e->life <= CTP_DESTROYED ? e->life : CTP_NONE;
	uint64_t since = world_ns(s->world, e->since),
		 shot = m->snapshot_ns ? m->snapshot_ns : s->world->snapshot_ns;
	source_row(s, SCHEMA_COROUTINES);
	row_count(&s->row, e->id);
	row_text(&s->row, e->entity == CTP_NATIVE ? "thread" : "coroutine");
	row_some(&s->row, m->pid);
	row_text(&s->row, image_name(m, e->id, name));
	int r = put_entry(s, m, e, e->entry);
	row_text(&s->row, lives[life]);
	put_account(s, m, at);
	row_count(&s->row, e->changes);
	source_time(s, world_ns(s->world, e->created));
	source_time(s, over ? since : 0);
	source_time(s, since);
	if (life == CTP_SUSPENDED && shot > since)
		row_count(&s->row, shot - since);
	else
		row_null(&s->row);
	if (!r)
		r = put_creator(s, m, e->creator, e->creator_stack);
	if (!r)
		r = source_put_site(s, m, e->stack);
	source_stack(s, m, e->stack);
	put_wait_fd(s, e);
	put_spent(s, c);
	return r ? r : source_done(s);
}

// One that only the history knows.
static int put_past(struct source *s, const struct source_entity *c)
{
	bool over = c->life == CTP_FINISHED || c->life == CTP_DESTROYED;
	uint64_t shot = s->world->snapshot_ns;
	source_row(s, SCHEMA_COROUTINES);
	row_count(&s->row, c->id);
	row_text(&s->row, c->native ? "thread" : "coroutine");
	row_some(&s->row, c->image ? c->image->pid : 0);
	row_null(&s->row);
	int r = put_entry(s, c->image, NULL, c->entry);
	row_text(&s->row, lives[c->life]);
	row_null(&s->row);
	row_count(&s->row, c->changes);
	source_time(s, c->created_ns);
	source_time(s, over ? c->ended_ns : 0);
	source_time(s, c->since_ns);
	if (c->life == CTP_SUSPENDED && shot > c->since_ns && c->since_ns)
		row_count(&s->row, shot - c->since_ns);
	else
		row_null(&s->row);
	if (!r)
		r = put_creator(s, c->image, c->creator, c->creator_stack);
	if (!r)
		r = source_put_site(s, c->image, c->stack);
	source_stack(s, c->image, c->stack);
	row_null(&s->row);
	row_null(&s->row);
	put_spent(s, c);
	return r ? r : source_done(s);
}

int source_coroutines(struct source *s)
{
	struct idmap told = {0};
	int r = 0;
	for (size_t i = 0; !r && i < s->world->nimages; i++) {
		const struct image *m = &s->world->images[i];
		for (size_t k = 0; !r && m->has_tables && k < m->stations.n; k++) {
			uint64_t id = image_state(m, k)->id;
			if (!id || !image_state(m, k)->life || idmap_get(&told, id) != IDMAP_NONE)
				continue;
			uint32_t at = idmap_get(&s->by_id, id);
			r = idmap_set(&told, id, 1);
			if (!r)
				r = put_state(s, m, k, at == IDMAP_NONE ? NULL : &s->entities[at]);
		}
	}
	for (size_t i = 0; !r && i < s->nentities; i++)
		if (idmap_get(&told, s->entities[i].id) == IDMAP_NONE)
			r = put_past(s, &s->entities[i]);
	idmap_deinit(&told);
	return r;
}

// ---------------------------------------------------------------- sites, histograms

static const struct image *image_of_key(const struct source *s, uint64_t key)
{
	for (size_t i = 0; i < s->world->nimages; i++)
		if (s->world->images[i].index == key >> 34)
			return &s->world->images[i];
	return NULL;
}

static uint32_t stack_of_key(uint64_t key)
{
	return key >> 10 & 0xffffff;
}

static void put_measure(struct source *s, uint64_t key)
{
	row_text(&s->row, source_measures[key >> 8 & 3]);
}

int source_sites(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->nsums; i++) {
		const struct source_sum *sum = &s->sums[i];
		const struct image *m = image_of_key(s, sum->key);
		uint32_t stack = stack_of_key(sum->key);
		source_row(s, SCHEMA_SITES);
		row_int(&s->row, source_stack_id(m, stack));
		put_measure(s, sum->key);
		r = source_put_site(s, m, stack);
		row_count(&s->row, sum->n);
		row_count(&s->row, sum->sum);
		row_count(&s->row, sum->max);
		r = r ? r : source_done(s);
	}
	return r;
}

int source_histograms(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->nbuckets; i++) {
		const struct source_bucket *b = &s->buckets[i];
		const struct image *m = image_of_key(s, b->key);
		uint32_t stack = stack_of_key(b->key);
		const struct source_site *at = source_site(s, m, stack);
		source_row(s, SCHEMA_HISTOGRAMS);
		row_int(&s->row, source_stack_id(m, stack));
		put_measure(s, b->key);
		row_count(&s->row, source_bucket_le(b->key & 0xff));
		row_text(&s->row, at ? at->name : NULL);
		row_count(&s->row, b->n);
		r = at ? source_done(s) : -ENOMEM;
	}
	return r;
}

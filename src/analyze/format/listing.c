// SPDX-License-Identifier: MIT
//
// All coroutines of a core file in groups, as ctp-ps lists those of a live process.
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/format/format.h"
#include "analyze/format/listing.h"
#include "analyze/report/group_by.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "base/json.h"
#include "base/text.h"
#include "symbols/frames_json.h"

static int rank(const struct ctp_state *s)
{
	return s->life == CTP_RUNNING ? 0 : s->life == CTP_SUSPENDED ? 1 : 2;
}

static const char *word(const struct ctp_state *s)
{
	static const char *const words[] = {"running", "suspended", "created"};
	return words[rank(s)];
}

// Where it stands: of what runs only the one that died is known.
static uint32_t stack_of(const struct image *m, const struct ctp_state *s)
{
	const struct ctp_crash *c = image_crash(m);
	if (s->life == CTP_RUNNING)
		return c && c->who == s->id ? c->stack : 0;
	return s->life == CTP_SUSPENDED ? image_told_stack(m, s) : s->creator_stack;
}

static int take(struct listing *l, const struct report *r, struct idmap *groups, const struct image *m,
		const struct ctp_state *s)
{
	uint32_t stack = stack_of(m, s);
	uint64_t key = group_by_key(r, m, s, stack) << 2 | (unsigned)rank(s);
	uint32_t at = s->life != CTP_RUNNING ? idmap_get(groups, key) : IDMAP_NONE;
	if (at != IDMAP_NONE) {
		struct listing_group *g = &l->items[at];
		g->n++;
		g->oldest = s->since < g->oldest->since ? s : g->oldest;
		return 0;
	}
	int e = GROW(l->items, l->n, l->capacity);
	if (!e && s->life != CTP_RUNNING)
		e = idmap_set(groups, key, (uint32_t)l->n);
	if (!e)
		l->items[l->n++] = (struct listing_group){m, s, stack, 1};
	return e;
}

static int by_rank(const void *a, const void *b)
{
	const struct ctp_state *x = ((const struct listing_group *)a)->oldest,
			       *y = ((const struct listing_group *)b)->oldest;
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

int listing_collect(struct listing *l, const struct report *r)
{
	int e = 0;
	*l = (struct listing){0};
	for (size_t i = 0; !e && i < r->world->nimages; i++) {
		const struct image *m = &r->world->images[i];
		struct idmap groups = {0};
		for (size_t k = 0; !e && k < m->stations.n; k++) {
			const struct ctp_state *s = image_state(m, k);
			if (s->entity == CTP_COROUTINE && s->life >= CTP_CREATED && s->life <= CTP_RUNNING)
				e = take(l, r, &groups, m, s);
		}
		idmap_deinit(&groups);
	}
	if (e)
		listing_deinit(l);
	else if (l->n)
		qsort(l->items, l->n, sizeof(*l->items), by_rank);
	return e;
}

void listing_deinit(struct listing *l)
{
	free(l->items);
	*l = (struct listing){0};
}

static uint64_t age_ns(const struct report *r, const struct listing_group *g)
{
	uint64_t since = world_ns(r->world, g->oldest->since), now = r->world->snapshot_ns;
	return now > since ? now - since : 0;
}

static void show(FILE *to, const struct report *r, const struct listing_group *g)
{
	struct symbols *symbols = r->symbols[g->image - r->world->images];
	const struct ctp_state *s = g->oldest;
	struct frames f = {0};
	char who[256], span[32], fd[64] = "", label[300], more[360] = "";
	report_who(r, g->image, s->id, who, sizeof(who));
	text_duration(span, sizeof(span), age_ns(r, g));
	if (s->life == CTP_SUSPENDED && image_nwaits(s))
		snprintf(fd, sizeof(fd), " on fd %d#%u", s->waits[0].fd, s->waits[0].gen);
	if (g->n > 1)
		snprintf(more, sizeof(more), ", and %zu more %s", g->n - 1,
			 r->group_by == GROUP_BY_SITE ? "from there" :
							group_by_label(r, g->image, s, label, sizeof(label)));
	fprintf(to, "%s %s for %s%s%s%s\n", who, word(s), span, fd, more,
		s->life == CTP_CREATED && s->creator_stack ? ", made at" : "");
	if (g->stack && !frames_read(&f, symbols, g->image, g->stack))
		format_text_stack(to, symbols, &f, STACK_PLAIN);
	frames_deinit(&f);
}

void listing_text(FILE *to, const struct report *r)
{
	struct listing l;
	if (listing_collect(&l, r))
		return;
	for (size_t i = 0; i < l.n; i++)
		show(to, r, &l.items[i]);
	if (l.n)
		fputc('\n', to);
	listing_deinit(&l);
}

json_t *listing_json(const struct report *r)
{
	struct listing l;
	json_t *a = json_array();
	if (listing_collect(&l, r))
		return a;
	for (size_t i = 0; i < l.n; i++) {
		const struct listing_group *g = &l.items[i];
		struct frames f = {0};
		frames_read(&f, r->symbols[g->image - r->world->images], g->image, g->stack);
		json_array_append_new(
			a, json_pack("{s:s, s:o, s:o, s:o, s:o}", "state", word(g->oldest), "count",
				     json_count(g->n), "longest", json_count(g->oldest->id), "since_ns",
				     json_count(age_ns(r, g)), "stack", frames_json(&f)));
		frames_deinit(&f);
	}
	listing_deinit(&l);
	return a;
}

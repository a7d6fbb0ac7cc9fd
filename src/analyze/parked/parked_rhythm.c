// SPDX-License-Identifier: MIT
//
// A timer was stopped, an entry of a heap was removed with another's, or a job was dropped where it failed:
// one of several coroutines that were created at the same place is not resumed any more, and the others go
// on. The tables do not tell it from an idle worker, but a worker comes to rest little by little, as work
// gets less, or with most others. So it counts only if all of these hold: its own waits were alike, and so
// are those of the others; they are resumed as often as before, and are more than those that stopped; and it
// has waited more than ten times its longest wait, three times the longest of all, and a second. It is
// SUSPECT at most. If a record of it was lost, its rhythm is not known, and nothing is said.
#include "analyze/parked/parked_rhythm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/parked/parked_case.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "base/text.h"
#include "ctp/wait_inference.h"
#include "trace/transitions.h"

#define MS 1000000ULL
#define LEAST_NS (1000 * MS)
#define JITTER_NS (5 * MS)
#define EVENTS_MOST 20000000ULL // in a history that is walked for this alone
enum { GAPS = 256, MEMBERS_MOST = 512, STOPPED_MOST = 4, RESUMED_LEAST = 2, AFTER_LEAST = 5 };

struct member {
	const struct ctp_state *state;
	size_t row;
	bool stopped, lost;
	uint64_t stopped_ns; // when the last of those of its family did that stopped
	uint64_t first_ns, longest, before, after;
	uint64_t gaps[GAPS]; // the last ones
	size_t ngaps;
};

struct looking {
	const struct image *m;
	uint64_t end_ns;
	struct member *v; // sorted by creator_stack
	size_t n, room;
	struct idmap by_id;
};

// ------------------------------------------------------------- who may be such

static uint64_t since(const struct world *w, const struct looking *l, const struct ctp_state *s)
{
	uint64_t ns = world_ns(w, s->since);
	return ns < l->end_ns ? l->end_ns - ns : 0;
}

// Has it no known wait, or does it run?
static bool is_asked(const struct ctp_state *s)
{
	return s->entity == CTP_COROUTINE && s->creator_stack &&
	       (s->life == CTP_RUNNING || (s->life == CTP_SUSPENDED && !image_nwaits(s) && !ctp_in_pool(s)));
}

static bool has_stopped(const struct world *w, const struct looking *l, const struct ctp_state *s, size_t row)
{
	return image_suspended(l->m, s) && (l->m->row_flags[row] & IMAGE_ROW_PARKED) &&
	       !image_ran_since(l->m, s) && since(w, l, s) > LEAST_NS;
}

static int by_family(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->state->creator_stack != y->state->creator_stack)
		return x->state->creator_stack < y->state->creator_stack ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static size_t family_end(const struct looking *l, size_t i)
{
	size_t end = i;
	while (end < l->n && l->v[end].state->creator_stack == l->v[i].state->creator_stack)
		end++;
	return end;
}

// Families in which few have stopped, and more go on.
static void keep_families(struct looking *l, const struct world *w)
{
	size_t kept = 0, end;
	for (size_t i = 0; i < l->n; i = end) {
		size_t stopped = 0;
		uint64_t last = 0;
		end = family_end(l, i);
		for (size_t k = i; k < end; k++) {
			uint64_t ns = world_ns(w, l->v[k].state->since);
			stopped += l->v[k].stopped;
			last = l->v[k].stopped && ns > last ? ns : last;
		}
		bool keep = stopped && stopped <= STOPPED_MOST && 2 * stopped < end - i &&
			    kept + (end - i) <= MEMBERS_MOST;
		for (size_t k = i; keep && k < end; k++) {
			l->v[kept] = l->v[k];
			l->v[kept++].stopped_ns = last;
		}
	}
	l->n = kept;
}

static int gather(struct looking *l, const struct world *w, const unsigned char *told)
{
	int r = 0;
	size_t stopped = 0;
	for (size_t i = 0; i < l->m->stations.n && !stopped; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		stopped += !told[i] && is_asked(s) && has_stopped(w, l, s, i);
	}
	for (size_t i = 0; stopped && !r && i < l->m->stations.n; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		if (told[i] || !is_asked(s))
			continue;
		r = GROW(l->v, l->n, l->room) ? -ENOMEM : 0;
		if (!r)
			l->v[l->n++] =
				(struct member){.state = s, .row = i, .stopped = has_stopped(w, l, s, i)};
	}
	if (!r && l->n) {
		qsort(l->v, l->n, sizeof(*l->v), by_family);
		keep_families(l, w);
	}
	for (size_t i = 0; !r && i < l->n; i++)
		r = idmap_set(&l->by_id, l->v[i].state->id, (uint32_t)i);
	return r;
}

// ------------------------------------------------------------- the history

static void add_gap(struct member *of, const struct transition *t, uint64_t began_ns)
{
	uint64_t gap = t->ns - began_ns;
	of->first_ns = of->first_ns ? of->first_ns : began_ns;
	of->longest = gap > of->longest ? gap : of->longest;
	of->gaps[of->ngaps++ % GAPS] = gap;
	of->before += t->ns <= of->stopped_ns;
	of->after += t->ns > of->stopped_ns;
}

static int sink(void *arg, const struct transition *t)
{
	struct looking *l = arg;
	const struct ctp_merge_entity *to = t->to;
	uint32_t i = t->kind == CTP_EV_SWITCH && to ? idmap_get(&l->by_id, to->id) : IDMAP_NONE;
	if (t->kind == CTP_EV_SWITCH && t->from_gap && t->from) {
		uint32_t from = idmap_get(&l->by_id, t->from->id);
		if (from != IDMAP_NONE)
			l->v[from].lost = true;
	}
	if (i == IDMAP_NONE)
		return 0;
	l->v[i].lost |= t->to_gap;
	if (!t->to_gap && to->suspended && to->since_ns && t->ns > to->since_ns)
		add_gap(&l->v[i], t, to->since_ns);
	return 0;
}

// ------------------------------------------------------------- what it says

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

// Were its waits alike? But for one in ten, that are longer on a busy machine.
static bool is_regular(struct member *of)
{
	size_t n = of->ngaps < GAPS ? of->ngaps : GAPS;
	if (n < RESUMED_LEAST || of->lost)
		return false;
	qsort(of->gaps, n, sizeof(*of->gaps), by_value);
	return of->gaps[(n - 1) * 9 / 10] <= 2 * of->gaps[(n - 1) / 2] + JITTER_NS;
}

// Is it resumed as often as before, as far as that can be told?
static bool goes_on(const struct looking *l, const struct member *of)
{
	uint64_t before = of->stopped_ns > of->first_ns ? of->stopped_ns - of->first_ns : 0,
		 after = l->end_ns - of->stopped_ns;
	return of->after >= AFTER_LEAST &&
	       (double)of->after * 3 * (double)before >= (double)of->before * (double)after;
}

static int report(const struct pass *pass, const struct world *w, const struct looking *l,
		  const struct member *of, size_t others, uint64_t resumed, struct results *out)
{
	char longest[32];
	text_duration(longest, sizeof(longest), of->longest);
	const struct parked_words words = {
		.message = results_text(
			out,
			"it was resumed %zu times, after %s at most; %zu others made at this place go on",
			of->ngaps, longest, others),
		.chance = results_text(out, "had its chance: the others were resumed %" PRIu64 " times since",
				       resumed),
		.claim = "is not resumed any more, while others like it go on",
		.refuted = "it is an idle worker, or waits for something that takes so much longer",
		.fix = "find what resumed it before: a timer that was stopped, an entry that was removed with another's, a "
		       "job that was dropped where it failed",
	};
	return parked_case_add(pass, w, l->m, of->state, &words, out);
}

static int judge_family(const struct pass *pass, const struct world *w, struct looking *l, size_t i,
			size_t end, unsigned char *told, struct results *out)
{
	uint64_t longest = 0, resumed = 0;
	size_t others = 0, stopped = 0;
	int r = 0;
	for (size_t k = i; k < end; k++) {
		struct member *of = &l->v[k];
		if (!is_regular(of))
			return 0;
		stopped += of->stopped;
		if (of->stopped)
			continue;
		others += goes_on(l, of);
		resumed += of->after;
		longest = of->longest > longest ? of->longest : longest;
	}
	for (size_t k = i; !r && others > stopped && k < end; k++) {
		const struct member *of = &l->v[k];
		uint64_t waits = since(w, l, of->state);
		if (!of->stopped || waits <= 10 * of->longest || waits <= 3 * longest)
			continue;
		told[of->row] = 1;
		r = report(pass, w, l, of, others, resumed, out);
	}
	return r;
}

int parked_rhythm(const struct pass *pass, const struct world *w, const struct image *m, unsigned char *told,
		  struct results *out)
{
	struct looking l = {.m = m, .end_ns = m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns};
	size_t end;
	if (w->nimages != 1 || w->form != WORLD_DIRECTORY || w->events > EVENTS_MOST || !m->has_tables ||
	    m->replaced)
		return 0;
	int r = gather(&l, w, told);
	if (!r && l.n)
		r = transitions_walk(w, sink, &l);
	for (size_t i = 0; !r && i < l.n; i = end) {
		end = family_end(&l, i);
		r = judge_family(pass, w, &l, i, end, told, out);
	}
	idmap_deinit(&l.by_id);
	free(l.v);
	return r;
}

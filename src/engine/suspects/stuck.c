// SPDX-License-Identifier: MIT
//
// The walk over the tables: what they hint at (stuck_tables.c), then what the kernel says of that, once
// (stuck_rule.c). stuck_pace.c says when a walk is made. A program that is never idle is found asleep between
// two of its turns, if at all.
#include "engine/suspects/stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/living.h"
#include "ctp/there.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/suspects/stuck_walk.h"

#define MS 1000000ULL
enum { READY_MS = 50 };
enum { FINAL_PAUSE_NS = 3000000, STOPPED_PAUSE_NS = 250000, STOPPED_SHARES = 4, TRIES = 12 }; // at the end
enum { ROWS_LIVE = 10000, PARKED_MAX = 4096 };

// A candidate of its end says more, unless an event has come since it suspended.
static bool has_candidate(const struct suspects *s, const struct suspect *x)
{
	bool may = x->rule == RULE_REMOVED && x->c.was.event_time < x->s.since;
	for (size_t i = 0; may && i < s->n; i++)
		if (s->v[i]->cand != STUCK_WAIT_NO_CAND && s->v[i]->rule == x->rule &&
		    s->v[i]->s.id == x->s.id && s->v[i]->c.fd == x->c.fd && s->v[i]->c.gen == x->c.gen)
			return true;
	return false;
}

static bool known(struct stuck_walk *w, const struct suspect *x)
{
	const struct suspects *s = w->s;
	if (has_candidate(s, x))
		return true;
	for (; w->named < s->n; w->named++) // those of the walks before, mostly
		if (s->v[w->named]->cand == STUCK_WAIT_NO_CAND && idmap_set(&w->ids, s->v[w->named]->s.id, 0))
			return true; // no memory: no more of them
	for (size_t i = idmap_get(&w->ids, x->s.id) == IDMAP_NONE ? s->n : 0; i < s->n; i++)
		if (s->v[i]->cand == STUCK_WAIT_NO_CAND && s->v[i]->s.id == x->s.id &&
		    s->v[i]->rule == x->rule && s->v[i]->c.fd == x->c.fd && s->v[i]->c.gen == x->c.gen &&
		    s->v[i]->s.changes == x->s.changes)
			return true;
	return false;
}

static void identify(const struct stuck_walk *w, struct suspect *x)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(w->pid), x->c.fd);
	if (x->c.fd < 0 || stat(path, &st))
		return;
	x->c.dev = st.st_dev;
	x->c.ino = st.st_ino;
	x->c.mode = st.st_mode;
}

static void keep(struct stuck_walk *w, struct suspect *x)
{
	struct suspects *s = w->s;
	if (known(w, x) || s->n >= SUSPECTS_MAX) {
		free(x);
		return;
	}
	if (!w->epoch) // whoever reads it from now on has been through a wait since
		w->epoch = ctp_add64(&s->r->ext->epoch, 1) + 1;
	x->c.epoch = w->epoch;
	identify(w, x);
	s->v[s->n++] = x;
}

static void ask_kernel(struct stuck_walk *w)
{
	bool rows =
		w->n &&
		!registrations_read(w->pid, w->final ? 0 : ROWS_LIVE, w->deadline_ns, &w->registrations) &&
		w->registrations.complete && stuck_rule_sort(w);
	for (size_t i = 0; i < w->n; i++) {
		struct suspect *x = w->pairs[i];
		bool late = w->final && signals_late(w->deadline_ns);
		x->rule = rows && !late ? stuck_rule(w, x) : RULE_NONE;
		if (x->rule)
			keep(w, x);
		else
			free(x);
	}
	w->n = 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

// CTP003: those that wait for nothing that is known. Only memory can tell whether anybody has them.
static void parked(struct stuck_walk *w)
{
	const struct ctp_region *r = w->s->r;
	struct ctp_walk all = ctp_walk_states(r);
	size_t found = 0;
	if (w->nreferenced)
		qsort(w->referenced, w->nreferenced, sizeof(*w->referenced), by_value);
	for (uint64_t i = ctp_walk_from(&all, 0); i < all.n && found < PARKED_MAX;
	     i = ctp_walk_from(&all, i + 1)) {
		if (all.rows % 4096 == 0 && signals_late(w->deadline_ns))
			return;
		struct ctp_state c;
		if (r->states[i].life != CTP_SUSPENDED || !stuck_tables_coroutine(w, i, &c) || c.nwaits ||
		    !c.lo ||
		    (w->nreferenced &&
		     bsearch(&c.id, w->referenced, w->nreferenced, sizeof(*w->referenced), by_value)))
			continue;
		struct suspect *x = stuck_tables_suspect(w, (uint32_t)i, &c);
		if (!x)
			return;
		x->rule = RULE_PARKED;
		keep(w, x);
		found++;
	}
}

// ------------------------------------------------------------- when

static uint64_t turns_of(const struct ctp_region *r)
{
	uint64_t sum = 0;
	for (uint32_t i = 0, n = ctp_load32(&r->ext->thread_high); i < n && i < r->threads_max; i++)
		sum += r->threads[i].turns;
	return sum;
}

// At the end there is time until all threads sleep; more if the program is stopped again and again,
// or if a busy machine lets us ask only now and then.
static void await_sleep(struct stuck *k, struct stuck_walk *w)
{
	uint64_t share = w->deadline_ns > w->now_ns ? (w->deadline_ns - w->now_ns) / 2 : 0;
	bool stopped;
	for (int tries = 1; !(w->asleep = proc_asleep(w->pid, &stopped)); tries++) {
		stuck_note_stopped(k, stopped);
		unsigned shares = stuck_stopped(k) ? STOPPED_SHARES : tries < TRIES ? 2 : 1;
		if (proc_now_ns() >= w->now_ns + shares * share)
			break;
		nanosleep(&(struct timespec){.tv_nsec = stuck_stopped(k) ? STOPPED_PAUSE_NS : FINAL_PAUSE_NS},
			  NULL);
	}
	uint64_t until = proc_now_ns() + share;
	w->deadline_ns = until > w->deadline_ns ? until : w->deadline_ns;
}

void stuck_gather(struct stuck *k, struct suspects *s, pid_t pid, uint64_t final_ns, uint64_t now_ns)
{
	bool final = final_ns != 0;
	const struct ctp_ext *e = s->r->ext;
	struct stuck_walk w = {.s = s,
			       .pid = pid,
			       .final = final,
			       .now_ns = now_ns,
			       .turns = turns_of(s->r),
			       .deadline_ns = final ? final_ns : now_ns + READY_MS * MS};
	uint64_t sum = ctp_region_moves(s->r);
	bool idle = false, stopped = false;
	if ((!final && !stuck_pace_due(k, sum, now_ns, &idle)) || ctp_load64(&e->exit_begun))
		return;
	stopped = proc_stopped(pid);
	stuck_note_stopped(k, stopped);
	if (!final && stopped) { // nothing can be asked, and nothing happens meanwhile
		stuck_pace_put_off(k, now_ns);
		return;
	}
	unheard_sets_find(&w.sets, s->r);
	stuck_tables_find(&w);
	w.hints = w.n > 0;
	if (w.hints && final)
		await_sleep(k, &w);
	else if (w.hints)
		w.asleep = proc_asleep(pid, &stopped);
	ask_kernel(&w);
	if (final)
		parked(&w);
	free(w.pairs);
	free(w.referenced);
	free(w.readers);
	free(w.by_number);
	registrations_deinit(&w.registrations);
	queued_deinit(&w.queued);
	unheard_sets_deinit(&w.sets);
	idmap_deinit(&w.ids);
	stuck_pace_walked(k, &(struct stuck_paced){.moves = sum,
						   .begun_ns = now_ns,
						   .idle = idle,
						   .stopped = stopped,
						   .whole = w.asleep || (idle && !w.hints),
						   .watch = w.watch});
}

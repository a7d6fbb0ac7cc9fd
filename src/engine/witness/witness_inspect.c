// SPDX-License-Identifier: MIT
//
// One inspection: the judges are asked in their order, and what they say of each suspect is written. One that
// leaves something open is followed by another, after a time that grows.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctp/late.h"
#include "ctp/seq.h"
#include "engine/memory/objects.h"
#include "engine/memory/reach.h"
#include "engine/witness/decided.h"
#include "engine/witness/evidence.h"
#include "engine/witness/flight.h"
#include "engine/witness/kernel.h"
#include "engine/witness/kernel_stuck.h"
#include "engine/witness/next_look.h"
#include "engine/witness/quiescent.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/witness/witness_own.h"

enum { SEARCHES = 8, AWAKE_MS = 100, PAUSES_TRIED = 3 };

// All that can be shown is shown; only the coroutine's running could undo it.
static bool is_proven(const struct suspect *s)
{
	unsigned held = 0;
	for (unsigned p = 0; p < PROOFS; p++)
		held |= proof_is_witnessed(p) && s->a[p].holds == HOLDS_TRUE ? proof_bit(p) : 0;
	return proof_witnessed(held) && !s->pooled;
}

static void judge(struct inspection *l)
{
	for (size_t i = 0; i < l->n; i++) {
		memset(l->who[i]->a, 0, sizeof(l->who[i]->a));
		l->who[i]->beside = (struct beside){0};
		l->who[i]->pooled = l->who[i]->put_off = l->who[i]->unchecked = false;
		l->who[i]->unsearched = !l->scan && !l->idle;
	}
	objects_find(l);
	kernel_judge(l);
	kernel_stuck(l);
	flight_judge(l);
	quiescent_judge(l);
	if (l->scan)
		reach_judge(l);
	else
		for (size_t i = 0; i < l->n; i++)
			if (suspect_objects(l->who[i]))
				inspect_say(&l->who[i]->a[PROOF_P6A], HOLDS_OPEN,
					    "memory was not searched: %s",
					    l->idle ? "a search would not decide this case" :
						      "the program did not come to rest");
	quiescent_doubt(l);
}

// A program that ends frees what it keeps its coroutines in, and removes its queues: that nothing leads to
// one then does not tell that nothing did.
static void keep_led_to(const struct witness *w, const struct inspection *l)
{
	bool ending = decided_ending(w->r);
	for (size_t i = 0; i < l->n; i++) {
		struct suspect *s = l->who[i];
		struct inspect_answer *memory = &s->a[PROOF_P6A];
		bool is = memory->holds == HOLDS_FALSE || (memory->holds == HOLDS_OPEN && l->stored);
		if (!ending && (is || memory->holds == HOLDS_TRUE)) {
			s->led_to = is;
			s->searched = true;
		} else if (ending && memory->holds == HOLDS_TRUE &&
			   (s->led_to || (!s->searched && s->rule != RULE_PARKED)))
			inspect_say(
				memory, HOLDS_OPEN,
				s->led_to ?
					"what may have led to it was gone only when the program began to end" :
					"memory was first searched when the program had begun to end");
	}
}

// What memory might still tell is looked for again, a number of times: where nothing can happen any more that
// is all that is wanted for PROVEN, and ctp-analyze may want more.
static bool unsearched(const struct suspect *s, const struct inspection *l)
{
	return l->scan && suspect_objects(s) && s->a[PROOF_P6A].holds == HOLDS_OPEN &&
	       s->inspections < SEARCHES;
}

// Whether it is stuck could not be told: a thread was awake, or stopped, just then.
static bool undecided(const struct suspect *s)
{
	return stuck_wait_is(s) && !s->gone && s->a[PROOF_P3].holds == HOLDS_OPEN;
}

// What is decided stands where the program has begun to end: only that it ran undoes it then.
static void note_decided(const struct witness *w, struct suspect *s)
{
	enum decided is = decided_of(w->r, s);
	if (s->stood && !is && ctp_told_to_end(w->r->ext))
		return;
	s->stood = !is ? 0 : is == s->decided ? s->stood + 1 : 1;
	s->decided = is;
}

static void report(struct witness *w, struct inspection *l, uint64_t ns)
{
	for (size_t i = 0; i < l->n; i++) {
		struct suspect *s = l->who[i];
		bool refuted = stuck_wait_refuted(s), again = undecided(s) && s->retries < WITNESS_AGAIN;
		s->inspections += !again;
		s->retries += again;
		s->next_ns = next_look_ns(s, again, proc_now_ns());
		if (!suspect_holds(w->r, s))
			continue; // it ran while we looked: withdrawn at the next turn
		if (s->a[PROOF_P6A].holds == HOLDS_TRUE)
			control_group_note(&w->control, s);
		if ((refuted || again) && !s->said)
			continue;
		bool shown = is_proven(s);
		if (s->shown && !shown && !refuted)
			continue; // it has not run since
		s->shown = shown;
		s->proven = shown && !unsearched(s, l);
		note_decided(w, s);
		w->certain += s->proven;
		if (s->rule == RULE_PARKED && l->final && s->a[PROOF_P6A].holds != HOLDS_TRUE &&
		    inspect_late(l))
			continue; // the tables tell as much, and SIGTERM waits
		if (s->said && !s->proven && l->final && signals_hurried())
			continue; // what was seen while there was time is more
		evidence_write(w->out, l, s, ns, l->final ? "final" : "live");
	}
	if (w->out)
		fflush(w->out);
}

size_t witness_due(const struct witness *w, uint64_t now_ns, bool all, struct suspect ***who)
{
	size_t n = 0;
	*who = calloc(w->suspects.n + 1, sizeof(struct suspect *));
	for (size_t i = 0; *who && i < w->suspects.n; i++) {
		struct suspect *s = w->suspects.v[i];
		if (!s->proven && (all || now_ns >= s->next_ns))
			(*who)[n++] = s;
	}
	return n;
}

void witness_note_rings(struct witness *w, size_t n)
{
	struct ctp_ext *e = w->r->ext;
	if (n > e->rings)
		e->rings = (uint32_t)n;
}

// Of stopped threads it cannot be told what they would do. One who was not looked at for long is looked at
// all the same.
static bool put_off(const struct inspection *l, uint64_t now_ns)
{
	for (size_t i = 0; l->disturbed && i < l->n; i++)
		if (l->who[i]->inspections || now_ns - l->who[i]->found_ns < WITNESS_STOPPED_MS * WITNESS_MS)
			return true;
	return false;
}

// One that goes on is awake for a moment, for longer on a busy machine; its computing threads are so for
// ever.
static bool patient(const struct witness *w, bool stopped)
{
	return (stopped || (stuck_stopped(&w->stuck) && w->awake_ns < AWAKE_MS * WITNESS_MS)) &&
	       !signals_late(w->patient_ns);
}

void witness_await_rest(struct witness *w)
{
	bool stopped;
	while (!proc_asleep(w->pid, &stopped)) {
		stuck_note_stopped(&w->stuck, stopped);
		if (!patient(w, stopped))
			return;
		uint64_t begun = proc_now_ns();
		nanosleep(&(struct timespec){.tv_nsec = WITNESS_MS / 4}, NULL);
		w->awake_ns += stopped ? 0 : proc_now_ns() - begun;
	}
}

// A program that is never idle for long is looked at when it sleeps.
static int begin_live(struct witness *w, struct inspection *l)
{
	for (unsigned tries = 1;; tries++) {
		bool pause = l->idle || pauses_await(&w->pauses, w->pid);
		int r = inspect_begin(l);
		if (r || !pause || proc_tasks_asleep(&l->tasks) || tries == PAUSES_TRIED)
			return r;
		inspect_deinit(l);
	}
}

// At the last look there is time to wait.
static int begin(struct witness *w, struct inspection *l)
{
	while (l->final) {
		witness_await_rest(w);
		int r = inspect_begin(l);
		if (r)
			return r;
		stuck_note_stopped(&w->stuck, l->disturbed);
		if (proc_tasks_asleep(&l->tasks) || !patient(w, l->disturbed))
			return r;
		inspect_deinit(l);
	}
	return begin_live(w, l);
}

void witness_doubt_proven(struct witness *w, uint64_t ns)
{
	if (!w->control.coroutine || w->control.said)
		return;
	control_group_write(&w->control, w->out, ns);
	for (size_t i = 0; i < w->suspects.n; i++) {
		struct suspect *s = w->suspects.v[i];
		s->proven = s->shown = false;
		s->stood = 0;
		s->decided = DECIDED_NOT;
		s->next_ns = ns;
	}
}

bool witness_look_at_control(struct witness *w, const struct inspection *like, bool own)
{
	struct inspection l = {.r = w->r,
			       .pid = w->pid,
			       .final = like->final,
			       .may_stop = like->may_stop,
			       .scan = true,
			       .idle = like->idle,
			       .keys = &w->keys,
			       .loops = &w->loops,
			       .deadline_ns = like->deadline_ns,
			       .cpu_until_ns = like->cpu_until_ns};
	return control_group_look(&w->control, &w->suspects, &l, own);
}

// Of those that are parked no more is known than that nothing leads to them.
static bool rests_on_search(struct suspect *const *who, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!who[i]->gone && who[i]->a[PROOF_P6A].holds == HOLDS_TRUE &&
		    (who[i]->rule == RULE_PARKED || is_proven(who[i])))
			return true;
	return false;
}

void witness_ask_control(struct witness *w, const struct inspection *l, struct suspect *const *who, size_t n)
{
	if (!w->control.coroutine && rests_on_search(who, n) && w->control.looked != ctp_region_moves(w->r))
		w->control.owed = !witness_look_at_control(w, l, false);
}

void witness_inspect(struct witness *w, struct inspection *l)
{
	uint64_t begun = proc_now_ns();
	l->keys = &w->keys;
	l->slept_long = long_sleep_now(&w->sleeps, w->r, begun);
	l->loops = &w->loops;
	if (begin(w, l))
		return;
	if (l->final || !put_off(l, begun)) {
		witness_note_rings(w, l->registrations.uring);
		judge(l);
		keep_led_to(w, l);
		control_group_check(&w->control, w->r, true);
		witness_ask_control(w, l, l->who, l->n);
		control_group_doubt(&w->control, l);
		witness_doubt_proven(w, begun);
		report(w, l, begun);
	}
	inspect_deinit(l);
}

// SPDX-License-Identifier: MIT
//
// When to inspect, and which coroutines. A live inspection is made when the process has been idle for
// 30 ms; a process that is never idle is inspected after 200 ms, without its memory. An inspection that
// leaves something open delays the next one, and inspections cost a tenth of a CPU at most. Lines are
// flushed after each inspection, so that its results survive the program and ctp-run. A search of memory may
// use so much CPU time, wherever other programs take theirs meanwhile; it ends when the program runs.
#include "engine/witness/witness.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ctp/seq.h"
#include "engine/inspect/inspect.h"
#include "engine/memory/keys.h"
#include "engine/memory/objects.h"
#include "engine/memory/reach.h"
#include "engine/witness/complete_turns.h"
#include "engine/witness/decided.h"
#include "engine/witness/descriptors.h"
#include "engine/witness/evidence.h"
#include "engine/witness/flight.h"
#include "engine/witness/kernel.h"
#include "engine/witness/kernel_stuck.h"
#include "engine/witness/long_sleep.h"
#include "engine/witness/quiescent.h"
#include "engine/witness/stuck.h"
#include "engine/witness/stuck_wait.h"
#include "engine/witness/suspects.h"

#define MS 1000000ULL
enum {
	CHECK_MS = 30,
	GRACE_MS = 200,
	LIVE_MS = 2000,
	LIVE_CPU_MS = 4000,
	LIVE_MOST_MS = 40000,
	BACKOFF_MS = 100,
	BACKOFF_MAX_MS = 5000,
	AGAIN_MS = 5,
	AGAIN = 12,
	SEARCHES = 8,
	STOPPED_MS = 1000,
	GOES_ON_MS = 300,
	AWAKE_MS = 100,
	PROVE_TRIES = 20
};

struct witness {
	const struct ctp_region *r;
	pid_t pid;
	FILE *out, *descriptors;
	const struct witness_clock *clock;
	bool prove;
	struct keys keys;
	struct suspects suspects;
	struct stuck stuck;
	struct complete_turns loops;
	struct long_sleep sleeps;
	struct proc_tasks last;        // threads at the last check
	uint64_t check_ns, inspect_ns; // not before
	uint64_t patient_ns;           // until then, the last look waits for a stopped program
	uint64_t awake_ns;             // and so long it has waited for threads that were awake after a stop
	unsigned scans;                // tries between ticks
	size_t described;              // suspects that there were when the descriptors were written
	unsigned certain;
	bool patient; // nobody else needs ctp-run
};

struct witness *witness_new(const struct ctp_region *r, pid_t pid, FILE *out, FILE *descriptors,
			    const struct witness_clock *clock, bool prove)
{
	struct witness *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	*w = (struct witness){
		.r = r, .pid = pid, .out = out, .descriptors = descriptors, .clock = clock, .prove = prove};
	keys_init(&w->keys, pid);
	if (!suspects_init(&w->suspects, r)) {
		keys_deinit(&w->keys);
		free(w);
		return NULL;
	}
	return w;
}

void witness_free(struct witness *w)
{
	if (!w)
		return;
	suspects_deinit(&w->suspects);
	proc_tasks_deinit(&w->last);
	complete_turns_deinit(&w->loops);
	long_sleep_deinit(&w->sleeps);
	keys_deinit(&w->keys);
	free(w);
}

// All that can be shown is shown; only the coroutine's running could undo it.
static bool is_proven(const struct suspect *s)
{
	unsigned held = 0;
	for (unsigned p = 0; p < PROOFS; p++)
		held |= proof_is_witnessed(p) && s->a[p].holds == HOLDS_TRUE ? proof_bit(p) : 0;
	return proof_witnessed(held) && !s->pooled;
}

static uint64_t backoff(const struct suspect *s)
{
	uint64_t ms = (uint64_t)BACKOFF_MS << (s->inspections < 6 ? s->inspections : 6);
	return (ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS) * MS;
}

static void judge(struct inspection *l)
{
	for (size_t i = 0; i < l->n; i++) {
		memset(l->who[i]->a, 0, sizeof(l->who[i]->a));
		l->who[i]->beside = (struct beside){0};
		l->who[i]->pooled = l->who[i]->put_off = false;
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
	if (s->stood && !is && (ctp_load64(&w->r->ext->exit_begun) || ctp_load64(&w->r->ext->signal_taken)))
		return;
	s->stood = !is ? 0 : is == s->decided ? s->stood + 1 : 1;
	s->decided = is;
}

static void report(struct witness *w, struct inspection *l, uint64_t ns)
{
	for (size_t i = 0; i < l->n; i++) {
		struct suspect *s = l->who[i];
		bool refuted = stuck_wait_refuted(s), again = undecided(s) && s->retries < AGAIN;
		s->inspections += !again;
		s->retries += again;
		s->next_ns = proc_now_ns() + (again ? CHECK_MS * MS : backoff(s));
		if (!suspect_holds(w->r, s))
			continue; // it ran while we looked: withdrawn at the next turn
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

// Those that are due. The caller frees `who`.
static size_t due(const struct witness *w, uint64_t now_ns, bool all, struct suspect ***who)
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

// A request keeps what it waits for from everybody's eyes, and a closed file alive.
static void note_rings(struct witness *w, size_t n)
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
		if (l->who[i]->inspections || now_ns - l->who[i]->found_ns < STOPPED_MS * MS)
			return true;
	return false;
}

// One that goes on is awake for a moment, for longer on a busy machine; its computing threads are so for
// ever.
static bool patient(const struct witness *w, bool stopped)
{
	return (stopped || (stuck_stopped(&w->stuck) && w->awake_ns < AWAKE_MS * MS)) &&
	       !signals_late(w->patient_ns);
}

// Until it goes on, and sleeps again.
static void await_rest(struct witness *w)
{
	bool stopped;
	while (!proc_asleep(w->pid, &stopped)) {
		stuck_note_stopped(&w->stuck, stopped);
		if (!patient(w, stopped))
			return;
		uint64_t begun = proc_now_ns();
		nanosleep(&(struct timespec){.tv_nsec = MS / 4}, NULL);
		w->awake_ns += stopped ? 0 : proc_now_ns() - begun;
	}
}

// At the last look there is time for that.
static int begin(struct witness *w, struct inspection *l)
{
	for (;;) {
		if (l->final)
			await_rest(w);
		int r = inspect_begin(l);
		if (r || !l->final)
			return r;
		stuck_note_stopped(&w->stuck, l->disturbed);
		if (proc_tasks_asleep(&l->tasks) || !patient(w, l->disturbed))
			return r;
		inspect_deinit(l);
	}
}

static void take_inspection(struct witness *w, struct inspection *l)
{
	uint64_t begun = proc_now_ns();
	l->keys = &w->keys;
	l->slept_long = long_sleep_now(&w->sleeps, w->r, begun);
	l->loops = &w->loops;
	if (begin(w, l))
		return;
	if (l->final || !put_off(l, begun)) {
		note_rings(w, l->registrations.uring);
		judge(l);
		report(w, l, begun);
	}
	inspect_deinit(l);
}

static bool needs_memory(struct suspect **who, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (stuck_wait_needs_memory(who[i]))
			return true;
	return false;
}

static void live_inspection(struct witness *w, struct suspect **who, size_t n, bool idle, bool scan)
{
	uint64_t begun = proc_now_ns(), cpu_ns = clock_cpu_ns();
	struct inspection l = {.r = w->r,
			       .pid = w->pid,
			       .scan = scan,
			       .idle = idle,
			       .who = who,
			       .n = n,
			       .deadline_ns = begun + (w->patient ? LIVE_MOST_MS : LIVE_MS) * MS,
			       .cpu_until_ns = cpu_ns + LIVE_CPU_MS * MS};
	if (w->described < w->suspects.n &&
	    w->descriptors) { // first: what is said next may be the last that there is time for
		descriptors_write(w->descriptors, w->r, w->pid, begun + LIVE_MS * MS);
		w->described = w->suspects.n;
	}
	take_inspection(w, &l);
	uint64_t end = proc_now_ns(), tenfold = 10 * (clock_cpu_ns() - cpu_ns), wall = end - begun;
	w->inspect_ns = end + (tenfold > wall ? tenfold : wall); // the rings were not read meanwhile
	proc_tasks_deinit(&w->last);                             // our own stops are not its runs
}

// Has nothing run since the last check, 30 ms ago or more? -1: there was no last check.
static int idle_since_check(struct witness *w, uint64_t now_ns)
{
	struct proc_tasks now = {0};
	uint64_t cpu_ns = clock_cpu_ns();
	if (proc_tasks_read(w->pid, false, &now))
		return 0;
	int still = w->last.n ? proc_tasks_still(&w->last, &now) : -1;
	proc_tasks_deinit(&w->last);
	w->last = now;
	uint64_t cost = clock_cpu_ns() - cpu_ns;
	w->check_ns = now_ns + (20 * cost > CHECK_MS * MS ? 20 * cost : CHECK_MS * MS);
	return still;
}

const struct keys *witness_keys(const struct witness *w)
{
	return &w->keys;
}

unsigned witness_certain(const struct witness *w)
{
	return w->certain;
}

void witness_each(const struct witness *w, void (*each)(void *arg, const struct suspect *s), void *arg)
{
	for (size_t i = 0; i < w->suspects.n; i++)
		each(arg, w->suspects.v[i]);
}

void witness_poll(struct witness *w, bool patient)
{
	w->patient = patient;
	uint64_t now_ns = proc_now_ns();
	long_sleep_note(&w->sleeps, w->r, now_ns);
	suspects_gather(&w->suspects, false, now_ns);
	stuck_gather(&w->stuck, &w->suspects, w->pid, 0, now_ns);
	suspects_release(&w->suspects, now_ns);
	if (w->suspects.n)
		complete_turns_note(&w->loops, w->r, now_ns);
	if (!w->suspects.n || now_ns < w->check_ns || now_ns < w->inspect_ns)
		return;
	suspects_withdraw(&w->suspects);
	struct suspect **who;
	size_t n = due(w, now_ns, false, &who);
	int idle = n ? idle_since_check(w, now_ns) : -1;
	if (!n) {
		proc_tasks_deinit(&w->last);
		w->check_ns = now_ns + CHECK_MS * MS;
	} else if (idle > 0) {
		live_inspection(w, who, n, true, needs_memory(who, n));
	} else if (idle == 0) {
		bool stopped = proc_tasks_stopped(&w->last);
		size_t late = 0;
		for (size_t i = 0; i < n; i++)
			if (now_ns - who[i]->found_ns >= (stopped ? STOPPED_MS : GRACE_MS) * MS &&
			    !(stopped && who[i]->inspections))
				who[late++] = who[i];
		bool scan = w->prove && w->scans < PROVE_TRIES;
		w->scans += late && scan;
		if (late)
			live_inspection(w, who, late, false, scan);
	}
	free(who);
}

// Does nothing run for so long?
static bool idle_for(const struct witness *w, unsigned ms)
{
	struct proc_tasks before = {0}, after = {0};
	bool idle = !proc_tasks_read(w->pid, false, &before);
	if (idle && ms) {
		nanosleep(&(struct timespec){.tv_nsec = (long)(ms * MS)}, NULL);
		idle = !proc_tasks_read(w->pid, false, &after) && proc_tasks_still(&before, &after);
	}
	proc_tasks_deinit(&before);
	proc_tasks_deinit(&after);
	return idle;
}

static size_t unproven(struct suspect **who, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!who[i]->proven && !who[i]->gone)
			who[kept++] = who[i];
	return kept;
}

// Of some no more could be told than that a thread was awake, or stopped, just then.
static void inspect_open_again(struct witness *w, const struct inspection *last)
{
	struct inspection l = *last;
	for (int i = 0; i < AGAIN; i++) {
		l.n = l.disturbed ? unproven(l.who, l.n) : stuck_wait_keep_open(l.who, l.n);
		if (!l.n || proc_now_ns() + 2 * AGAIN_MS * MS > last->deadline_ns)
			return;
		struct inspection again = {.r = l.r,
					   .pid = l.pid,
					   .final = true,
					   .may_stop = l.may_stop,
					   .scan = l.disturbed,
					   .idle = idle_for(w, AGAIN_MS),
					   .who = l.who,
					   .n = l.n,
					   .deadline_ns = l.deadline_ns};
		take_inspection(w, &again);
		l.disturbed = again.disturbed;
	}
}

// Once exit has begun no wait is added to the suspects (stuck_gather), so where there is none by now, the
// threads need not come to rest: main would wait for that, and threads that compute are asked one by one.
static bool nothing_to_judge(struct witness *w, uint64_t begun)
{
	if (!ctp_load64(&w->r->ext->exit_begun))
		return false;
	suspects_gather(&w->suspects, true, begun);
	suspects_withdraw(&w->suspects);
	struct suspect **who;
	size_t n = due(w, begun, true, &who);
	free(who);
	return !n;
}

void witness_final(struct witness *w, bool may_stop, uint64_t deadline)
{
	uint64_t begun = proc_now_ns();
	uint64_t gather = begun < deadline ? begun + (deadline - begun) / 4 : deadline;
	uint64_t most = begun < deadline ? (deadline - begun) / 4 * 3 : 0;
	w->patient_ns = begun + (most < GOES_ON_MS * MS ? most : GOES_ON_MS * MS);
	w->awake_ns = 0;
	if (!nothing_to_judge(w, begun))
		await_rest(w);
	note_rings(w, registrations_rings(w->pid, deadline));
	suspects_gather(&w->suspects, true, begun);
	suspects_withdraw(&w->suspects);
	stuck_gather(&w->stuck, &w->suspects, w->pid, gather, begun);
	struct suspect **who;
	size_t n = due(w, begun, true, &who);
	if (n) {
		bool idle = idle_for(w, begun + 100 * MS < deadline ? CHECK_MS : 0);
		struct inspection l = {.r = w->r,
				       .pid = w->pid,
				       .final = true,
				       .may_stop = may_stop,
				       .scan = true,
				       .idle = idle,
				       .who = who,
				       .n = n,
				       .deadline_ns = deadline};
		take_inspection(w, &l);
		inspect_open_again(w, &l);
	}
	free(who);
	if (w->descriptors && !signals_late(deadline))
		descriptors_write(w->descriptors, w->r, w->pid, deadline);
}

void witness_ended(struct witness *w)
{
	uint64_t ns = proc_now_ns();
	struct inspection l = {.r = w->r, .pid = w->pid, .final = true};
	suspects_gather(&w->suspects, true, ns);
	suspects_withdraw(&w->suspects);
	for (size_t i = 0; i < w->suspects.n; i++) {
		struct suspect *s = w->suspects.v[i];
		if (s->said && s->a[PROOF_P4].holds == HOLDS_TRUE)
			continue; // what was seen while it lived is more
		l.who = &s;
		l.n = 1;
		static const enum proof open[] = {PROOF_P0, PROOF_P2, PROOF_P3, PROOF_P6A, PROOF_P6B};
		for (size_t k = 0; k < sizeof(open) / sizeof(*open); k++)
			inspect_say_all(&l, open[k], HOLDS_OPEN,
					"the program ended before this could be seen");
		flight_tables(w->r, s);
		evidence_write(w->out, &l, s, ns, "final");
	}
	if (w->out)
		fflush(w->out);
}

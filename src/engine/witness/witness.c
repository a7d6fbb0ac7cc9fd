// SPDX-License-Identifier: MIT
//
// When to inspect a program that runs, and which coroutines. An inspection is made when the process has been
// idle for 30 ms; a process that is never idle is inspected after 200 ms, without its memory. An inspection
// that leaves something open delays the next one, and inspections cost a tenth of a CPU at most. Lines are
// flushed after each inspection, so that its results survive the program and ctp-run. A search of memory may
// use so much CPU time, wherever other programs take theirs meanwhile; it ends when the program runs.
#include "engine/witness/witness.h"

#include <stdlib.h>

#include "base/clock.h"
#include "ctp/seq.h"
#include "engine/witness/descriptors.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/witness/witness_own.h"

enum {
	GRACE_MS = 200,
	LIVE_MS = 2000,
	LIVE_CPU_MS = 8000,
	WELL_CPU_MS = 500,
	OWED_TRIES = 8,
	LIVE_MOST_MS = 40000,
	PROVE_TRIES = 20,
	DESCRIBE_MS = 1000,
	DESCRIBE_MAX_MS = 16000,
	DESCRIBE_SHARE = 50 // of a CPU
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
	descriptors_told_deinit(&w->told);
	proc_tasks_deinit(&w->last);
	complete_turns_deinit(&w->loops);
	long_sleep_deinit(&w->sleeps);
	control_group_deinit(&w->control);
	keys_deinit(&w->keys);
	free(w);
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
			       .deadline_ns = begun + (w->patient ? LIVE_MOST_MS : LIVE_MS) * WITNESS_MS,
			       .cpu_until_ns = cpu_ns + LIVE_CPU_MS * WITNESS_MS};
	if (w->described < w->suspects.n &&
	    w->descriptors) { // first: what is said next may be the last that there is time for
		descriptors_write(w->descriptors, &w->told, w->r, w->pid, begun + LIVE_MS * WITNESS_MS);
		w->described = w->suspects.n;
	}
	witness_inspect(w, &l);
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
	w->check_ns = now_ns +
		      (20 * cost > WITNESS_CHECK_MS * WITNESS_MS ? 20 * cost : WITNESS_CHECK_MS * WITNESS_MS);
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

uint64_t witness_control(const struct witness *w)
{
	return w ? w->control.coroutine : 0;
}

void witness_inherit(struct witness *w, uint64_t control)
{
	control_group_inherit(&w->control, control);
}

void witness_each(const struct witness *w, void (*each)(void *arg, const struct suspect *s), void *arg)
{
	for (size_t i = 0; i < w->suspects.n; i++)
		each(arg, w->suspects.v[i]);
}

// A look at coroutines of a program that is well, or one that is owed.
static void look_while_idle(struct witness *w, uint64_t now_ns)
{
	struct control_group *g = &w->control;
	uint64_t cpu_ns = clock_cpu_ns();
	bool attached = ctp_load32(&w->r->ext->gaps) & CTP_GAP_ATTACHED; // nothing is proven there
	bool owed = g->owed, told = false;
	if (attached || now_ns < w->inspect_ns || !control_group_due(g, w->r, now_ns))
		return;
	int idle = idle_since_check(w, now_ns);
	if (idle > 0)
		told = witness_look_at_control(
			w,
			&(struct inspection){.idle = true,
					     .deadline_ns = now_ns + LIVE_MS * WITNESS_MS,
					     .cpu_until_ns = cpu_ns + WELL_CPU_MS * WITNESS_MS},
			!owed);
	uint64_t end_ns = proc_now_ns();
	if (idle > 0 && owed)
		g->owed = !told && ++g->tries < OWED_TRIES;
	if (idle >= 0)
		control_group_made(g, owed ? told : idle > 0, end_ns);
	if (idle > 0)
		w->inspect_ns = end_ns + 10 * (clock_cpu_ns() - cpu_ns);
	if (!idle)
		proc_tasks_deinit(&w->last);
}

// What is unread, for who is killed without a last look. More seldom while nothing happens.
static void describe(struct witness *w, uint64_t now_ns)
{
	uint64_t moves = ctp_region_moves(w->r);
	if (!w->descriptors || now_ns < w->describe_ns)
		return;
	w->describe_ms = moves == w->describe_moves ? 2 * w->describe_ms : DESCRIBE_MS;
	w->describe_ms = w->describe_ms < DESCRIBE_MAX_MS ? w->describe_ms : DESCRIBE_MAX_MS;
	w->describe_moves = moves;
	if (w->describe_begun && descriptors_wanted(w->r))
		descriptors_write(w->descriptors, &w->told, w->r, w->pid, now_ns + LIVE_MS * WITNESS_MS);
	w->describe_begun = true;
	uint64_t end_ns = proc_now_ns(), cost = DESCRIBE_SHARE * (end_ns - now_ns);
	w->describe_ns = end_ns + (cost > w->describe_ms * WITNESS_MS ? cost : w->describe_ms * WITNESS_MS);
}

void witness_poll(struct witness *w, bool patient)
{
	w->patient = patient;
	uint64_t now_ns = proc_now_ns();
	long_sleep_note(&w->sleeps, w->r, now_ns);
	suspects_gather(&w->suspects, false, now_ns);
	stuck_gather(&w->stuck, &w->suspects, w->pid, 0, now_ns);
	suspects_release(&w->suspects, now_ns);
	control_group_check(&w->control, w->r, false);
	witness_doubt_proven(w, now_ns);
	describe(w, now_ns);
	if (w->suspects.n)
		complete_turns_note(&w->loops, w->r, now_ns);
	if ((!w->suspects.n || w->control.owed) && now_ns >= w->check_ns)
		look_while_idle(w, now_ns);
	if (!w->suspects.n || now_ns < w->check_ns || now_ns < w->inspect_ns)
		return;
	suspects_withdraw(&w->suspects);
	struct suspect **who;
	size_t n = witness_due(w, now_ns, false, &who);
	int idle = n ? idle_since_check(w, now_ns) : -1;
	if (!n) {
		proc_tasks_deinit(&w->last);
		w->check_ns = now_ns + WITNESS_CHECK_MS * WITNESS_MS;
	} else if (idle > 0) {
		live_inspection(w, who, n, true, needs_memory(who, n));
	} else if (idle == 0) {
		bool stopped = proc_tasks_stopped(&w->last);
		size_t late = 0;
		for (size_t i = 0; i < n; i++)
			if (now_ns - who[i]->found_ns >=
				    (stopped ? WITNESS_STOPPED_MS : GRACE_MS) * WITNESS_MS &&
			    !(stopped && who[i]->inspections))
				who[late++] = who[i];
		bool scan = w->prove && w->scans < PROVE_TRIES;
		w->scans += late && scan;
		if (late)
			live_inspection(w, who, late, false, scan);
	}
	free(who);
}

// SPDX-License-Identifier: MIT
//
// A turn calls what each process has to do, then what only the session can do:
// serve processes that wait, write and forget children that have ended. Those that wait
// are also served between two steps that take time.
#include "engine/session/turn.h"

#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/session/follow.h"
#include "engine/session/process_inspect.h"
#include "engine/session/reap.h"
#include "engine/session/snapshots.h"
#include "engine/session/waiters.h"

// For a core file, in which there is no other pair.
static void publish_clock(struct session *s)
{
	for (size_t i = 0; i < s->n_processes; i++) {
		struct ctp_ext *e = s->processes[i]->region->ext;
		ctp_store64(&e->clock_ticks1, 0);
		ctp_store64(&e->clock_ns1, s->recorder.clock.ns1);
		ctp_store64(&e->clock_ticks1, s->recorder.clock.ticks1);
	}
}

static void turn_metrics(struct session *s)
{
	struct metrics_process *all = s->metrics ? calloc(s->n_processes + 1, sizeof(*all)) : NULL;
	if (!all)
		return;
	struct metrics_now now = {.processes = all, .sums = session_sum(s)};
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended)
			all[now.n++] =
				(struct metrics_process){s->processes[i]->region, s->processes[i]->witness};
	metrics_turn(s->metrics, &now);
	free(all);
}

// What the kernel has noted for all processes, before any of them is looked at.
static bool turn_uprobes(struct session *s, uint64_t now)
{
	pid_t *pids = s->uprobes ? calloc(s->n_processes + 1, sizeof(*pids)) : NULL;
	size_t n = 0;
	if (!pids)
		return false;
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended)
			pids[n++] = s->processes[i]->pid;
	bool any = uprobes_turn(s->uprobes, pids, n, now);
	free(pids);
	waiters_serve(s); // whose child they are may be said only now
	return any;
}

bool turn_take(struct session *s)
{
	uint64_t now = clock_mono_ns();
	if (now >= s->clock_again_ns) { // ever more rarely: the rate only gets better
		recorder_clock_again(&s->recorder);
		publish_clock(s);
		s->clock_again_ns = now + s->clock_step_ns;
		s->clock_step_ns = s->clock_step_ns < 1000000000 ? s->clock_step_ns * 2 : s->clock_step_ns;
	}
	bool busy = turn_uprobes(s, now);
	s->late = false;
	for (size_t i = 0; i < s->n_processes; i++) {
		struct process *p = s->processes[i];
		if (p->ended || (i && process_gone(p)))
			continue;
		busy |= process_turn(p, now, session_may_idle(s));
		s->late |= p->harvest->late;
		waiters_serve(s);
	}
	busy |= v1_turn(s->v1, &s->recorder.clock);
	module_scan_read(&s->recorder.modules);
	waiters_serve(s); // before what has ended is written
	reap_ended(s);
	recorder_report_error(&s->recorder);
	snapshots_poll(s);
	turn_metrics(s);
	return busy;
}

void turn_empty(struct session *s)
{
	for (size_t i = 0; i < s->n_processes; i++) {
		struct process *p = s->processes[i];
		if (p->ended)
			continue;
		ctp_store64(&p->region->ext->heartbeat, p->region->ext->heartbeat + 1);
		harvest_turn(p->harvest, clock_mono_ns(), false);
	}
}

void turn_snapshot(struct session *s, const char *reason)
{
	uint64_t end =
		clock_mono_ns() + (strcmp(reason, "timeout") ? PROCESS_SNAPSHOT_NS : PROCESS_TIMEOUT_NS);
	size_t n = s->n_processes; // who begins meanwhile has his turn later: those that end are to be reaped
				   // in between
	for (size_t i = 0; i < n && i < s->n_processes; i++) { // each has its share of what is left
		uint64_t now = clock_mono_ns(), left = end > now ? (end - now) / (n - i) : 0;
		if (!s->processes[i]->ended)
			process_inspect_snapshot(s->processes[i], reason, now + left);
		follow_answer(s);
	}
	v1_turn(s->v1, &s->recorder.clock);
}

void turn_ended(struct session *s, const char *how, int code)
{
	struct manifest *m = &s->recorder.manifest;
	m->ended_ns = clock_mono_ns();
	m->ended_how = how;
	m->ended_code = code;
	process_ended(s->processes[0]);
	s->incomplete |= !process_write(s->processes[0]);
	follow_gone(s, s->processes[0]->pid);
}

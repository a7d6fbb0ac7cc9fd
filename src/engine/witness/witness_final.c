// SPDX-License-Identifier: MIT
//
// The final inspection, on which the program waits, and what can be said of one that is gone. There is time
// for a program that is stopped, or of which a thread was awake just then.
#include <stdlib.h>
#include <time.h>

#include "ctp/seq.h"
#include "engine/witness/descriptors.h"
#include "engine/witness/evidence.h"
#include "engine/witness/flight.h"
#include "engine/suspects/stuck_wait.h"
#include "engine/witness/witness.h"
#include "engine/witness/witness_own.h"

enum { AGAIN_MS = 5, GOES_ON_MS = 300 };

// Does nothing run for so long?
static bool idle_for(const struct witness *w, unsigned ms)
{
	struct proc_tasks before = {0}, after = {0};
	bool idle = !proc_tasks_read(w->pid, false, &before);
	if (idle && ms) {
		nanosleep(&(struct timespec){.tv_nsec = (long)(ms * WITNESS_MS)}, NULL);
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
	for (int i = 0; i < WITNESS_AGAIN; i++) {
		l.n = l.disturbed ? unproven(l.who, l.n) : stuck_wait_keep_open(l.who, l.n);
		if (!l.n || proc_now_ns() + 2 * AGAIN_MS * WITNESS_MS > last->deadline_ns)
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
		witness_inspect(w, &again);
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
	size_t n = witness_due(w, begun, true, &who);
	free(who);
	return !n;
}

void witness_final(struct witness *w, bool may_stop, uint64_t deadline)
{
	uint64_t begun = proc_now_ns();
	uint64_t gather = begun < deadline ? begun + (deadline - begun) / 4 : deadline;
	uint64_t most = begun < deadline ? (deadline - begun) / 4 * 3 : 0;
	w->patient_ns = begun + (most < GOES_ON_MS * WITNESS_MS ? most : GOES_ON_MS * WITNESS_MS);
	w->awake_ns = 0;
	if (!nothing_to_judge(w, begun))
		witness_await_rest(w);
	witness_note_rings(w, registrations_rings(w->pid, deadline));
	suspects_gather(&w->suspects, true, begun);
	suspects_withdraw(&w->suspects);
	stuck_gather(&w->stuck, &w->suspects, w->pid, gather, begun);
	struct suspect **who;
	size_t n = witness_due(w, begun, true, &who);
	if (n) {
		bool idle = idle_for(w, begun + 100 * WITNESS_MS < deadline ? WITNESS_CHECK_MS : 0);
		struct inspection l = {.r = w->r,
				       .pid = w->pid,
				       .final = true,
				       .may_stop = may_stop,
				       .scan = true,
				       .idle = idle,
				       .who = who,
				       .n = n,
				       .deadline_ns = deadline};
		witness_inspect(w, &l);
		inspect_open_again(w, &l);
	}
	free(who);
	witness_ask_control(
		w, &(struct inspection){.final = true, .may_stop = may_stop, .deadline_ns = deadline},
		w->suspects.v, w->suspects.n);
	witness_doubt_proven(w, begun);
	if (w->descriptors && !signals_late(deadline))
		descriptors_write(w->descriptors, &w->told, w->r, w->pid, deadline);
}

void witness_ended(struct witness *w)
{
	uint64_t ns = proc_now_ns();
	struct inspection l = {.r = w->r, .pid = w->pid, .final = true};
	control_group_check(&w->control, w->r, true);
	control_group_write(&w->control, w->out, ns);
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

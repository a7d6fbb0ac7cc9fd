// SPDX-License-Identifier: MIT
//
// Writing a child takes twenty files, and a disk may be slow: processes that wait for ctp-run are
// served in between. So others may begin, and be forgotten, while one is written; its struct stays
// where it is.
#include "engine/session/reap.h"

#include "engine/session/follow.h"
#include "engine/session/waiters.h"

// Its last events and tables are written, and all that it had is released.
static void close_child(struct session *s, struct process *p, bool ended)
{
	const char *became;
	process_ended(p);
	waiters_serve(s);
	s->incomplete |= !process_write(p);
	follow_gone(s, p->pid);
	struct harvest_sums sums = harvest_sum(p->harvest);
	if (p->harvest->to || sums.switches)
		harvest_add(&s->ended, &sums);
	session_count(s, p);
	s->snapshots.ended += p->harvest->flight ? p->harvest->flight->switches : 0;
	s->escaped += ended && process_escaped(p, &became);
	session_drop(s, p);
}

void reap_detach(struct session *s)
{
	for (size_t i = s->n_processes; i-- > 1;) {
		if (i >= s->n_processes || s->processes[i]->descent == DESCENT_PROVEN)
			continue;
		s->detached++;
		close_child(s, s->processes[i], false);
	}
}

void reap_ended(struct session *s)
{
	s->backlog = 0;
	for (size_t i = s->n_processes; i-- > 1;)
		s->backlog += process_gone(s->processes[i]);
	for (size_t i = s->n_processes; i-- > 1;) {
		if (i >= s->n_processes || !process_gone(s->processes[i]))
			continue;
		close_child(s, s->processes[i], true);
		s->backlog -= s->backlog > 0;
		waiters_serve(s); // the next one may take long, too
	}
}

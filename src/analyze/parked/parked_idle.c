// SPDX-License-Identifier: MIT
//
// A pool of idle workers sleeps for good, too, if nothing has work for it: it looks like coroutines that wait
// for each other. The difference is where work would come from: a thread that runs no coroutines, or a
// descriptor whose events woke the loop before. If there is neither, no more work will come.
#include "analyze/parked/parked_idle.h"

bool parked_idle_threads(const struct image *m)
{
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->life == CTP_THREAD_LIVE && !t->switches)
			return true;
	}
	return false;
}

static bool brought_events(const struct image *m)
{
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (f->life == CTP_FD_OPEN && f->reg_epfd >= 0 && (f->reg_events & CTP_REG_EVENTS) &&
		    f->event_time)
			return true;
	}
	return false;
}

bool parked_idle(const struct image *m)
{
	return parked_idle_threads(m) || brought_events(m);
}

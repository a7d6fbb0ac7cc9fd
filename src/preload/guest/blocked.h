// SPDX-License-Identifier: MIT
//
// blocked.h - how long a thread was in a call that blocks, while a task of the program's was under way: the
// event ctp:blocked, which libctp itself defines in a program that tells of tasks (ctp_task_begin,
// include/ctp/event.h). In all others a hook looks at one word, and reads no clock.
#pragma once

#include <ctp/event.h>

#include "preload/guest/guest.h"

#define BLOCKED_TICKS (1u << 15) // what is shorter counts as running: there may be many

struct blocked_event {
	struct ctp_event_info info;
	char text[80];
};
extern struct blocked_event blocked_event;

static inline bool blocked_is_told(void)
{
	return CTP_UNLIKELY(blocked_event.info.u.by.on); // plain: one comparison with memory
}

// Does this descriptor tell of tasks, so that ctp:blocked is to be there too?
bool blocked_goes_with(const struct ctp_event_info *event);

// The thread enters a call that blocks; it is noted already which (ctp_thread.wait_call, wait_regs).
void blocked_begin(struct thread_ctx *g);
void blocked_enter(struct thread_ctx *g); // the same, and guest_leave: a hook need not keep g for that
// It has returned (g->timed), and nobody else ran on this thread meanwhile.
void blocked_end(struct thread_ctx *g);
void blocked_leave(struct thread_ctx *g); // the same, and guest_leave

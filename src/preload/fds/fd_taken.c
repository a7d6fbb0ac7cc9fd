// SPDX-License-Identifier: MIT
//
// A coroutine is suspended for a descriptor that it alone waits for, by a registration of its own, and
// somebody else reads it. What would have woken that coroutine may be gone, or was taken from under an event
// that has been delivered already. Who helps out, and does what it took, looks the same: analyze tells it as
// a fact. Looked for only when another entity reads a descriptor than did before, so that a read costs
// nothing more.
#include "ctp/rules.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/incident.h"
#include "preload/fds/fds.h"

__attribute__((noinline)) void taken_find(struct thread_ctx *g, const struct ctp_fd *e, int fd,
					  const struct frame *f)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint64_t hint = ctp_load64(&e->waiter[0]), who = hint & CTP_ID_MASK;
	bool own = e->reg_by == who || (e->leads & CTP_ID_MASK) == who;
	if (hint >> CTP_ID_BITS >= r->stations_max || who == guest_who(g) || !own ||
	    (e->flags & (CTP_FD_MANY | CTP_FD_LISTENS)) || !fd_waits_for(hint, fd, e->gen))
		return;
	struct ctp_incident i = {.rule = RULE_WRONG_WAITER,
				 .who = who,
				 .stack = guest_stack(g, f),
				 .fd = fd,
				 .gen = e->gen,
				 .other = guest_who(g),
				 .other_time = ctp_peek(&r->states[hint >> CTP_ID_BITS].since)};
	i.value[0] = guest_now();
	i.value[1] = guest_who(g) ? guest_who(g) : CTP_FD_UNNAMED | g->slot;
	incident_note(g, &i);
}

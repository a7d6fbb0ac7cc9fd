// SPDX-License-Identifier: MIT
//
// Who set a timerfd last, and where: a coroutine that waits for one without an expiry was
// forgotten there, or given up. Setting a timer counts as writing to it.
#include "preload/hooks/hook.h"

#include "preload/fds/fds.h"

static void set(struct thread_ctx *g, int fd, const struct frame *f)
{
	struct ctp_fd *e = fds_entry(fd);
	uint64_t who = guest_who(g), id = who ? who : CTP_FD_UNNAMED | g->slot;
	if (!e || e->life != CTP_FD_OPEN || e->kind != CTP_FD_TIMERFD)
		return;
	uint64_t was = ctp_load64(&e->last_out);
	if ((was & ~CTP_FD_SEVERAL) != id)
		ctp_store64(&e->last_out, id | (was ? CTP_FD_SEVERAL : 0));
	ctp_store32(&e->set_stack, guest_stack(g, f));
	if (!who || who != e->opener || (e->flags & CTP_FD_OWN_SET) || !fds_take(e))
		return;
	ctp_poke(&e->flags, e->flags | CTP_FD_OWN_SET);
	fds_give(e);
}

CTP_HOOK int timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *was)
{
	struct frame f;
	CPU_CALLER(&f);
	int r = real_timerfd_settime(fd, flags, to, was);
	struct thread_ctx *g = r == 0 ? hook_enter() : NULL;
	if (!g)
		return r;
	set(g, fd, &f);
	guest_leave(g);
	return r;
}

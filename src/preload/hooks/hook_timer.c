// SPDX-License-Identifier: MIT
//
// Who set a timerfd last, and where: a coroutine that waits for one without an expiry was
// forgotten there, or given up. Setting a timer counts as writing to it. Whoever arms one, and suspends
// without a wait of its own, may wait for its expiry.
#include "preload/hooks/hook.h"

#include "preload/fds/fds.h"

__attribute__((noinline)) static void note_maker(struct ctp_fd *e)
{
	if (!fds_take(e))
		return;
	ctp_poke(&e->flags, e->flags | CTP_FD_OWN_SET);
	fds_give(e);
}

static void note_setter(struct ctp_fd *e, uint64_t id)
{
	uint64_t was = ctp_load64(&e->last_out);
	if ((was & ~CTP_FD_SEVERAL) != id)
		ctp_store64(&e->last_out, id | (was ? CTP_FD_SEVERAL : 0));
}

// What needs no more than registers comes first: the hook's instructions are counted.
static inline __attribute__((always_inline)) void set(struct thread_ctx *g, int fd, uint16_t armed,
						      const struct frame *f)
{
	struct ctp_fd *e = fds_entry_by(g, fd);
	struct ctp_state *s = g->current;
	uint64_t who = s->id;
	if (!e || e->life != CTP_FD_OPEN || e->kind != CTP_FD_TIMERFD)
		return;
	s->armed_in = ((const uint8_t *)&s->turn)[CTP_TURN_CHANGES / 8];
	s->armed = armed;
	note_setter(e, CTP_LIKELY(who) ? who : CTP_FD_UNNAMED | g->slot);
	if (who == e->opener && who && !(e->flags & CTP_FD_OWN_SET))
		note_maker(e);
	ctp_store32(&e->set_stack, guest_stack(g, f));
}

__attribute__((noinline)) static void disarmed(struct thread_ctx *g, int fd, const struct frame *f)
{
	set(g, fd, 0, f);
}

CTP_HOOK int timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *was)
{
	struct frame f;
	CPU_CALLER(&f);
	if (real_timerfd_settime(fd, flags, to, was))
		return -1;
	struct thread_ctx *g = hook_enter();
	if (!g)
		return 0;
	if (CTP_LIKELY(to->it_value.tv_sec | to->it_value.tv_nsec))
		set(g, fd, (uint16_t)(fd + 1), &f);
	else
		disarmed(g, fd, &f);
	guest_leave(g);
	int done = 0;
	__asm__("" : "+r"(done)); // made here, and not kept in a register all the way
	return done;
}

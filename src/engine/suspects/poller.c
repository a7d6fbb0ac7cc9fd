// SPDX-License-Identifier: MIT
//
// A set has one number, or several after dup(2): what two numbers have in common is the description.
#include "engine/suspects/poller.h"

#include "engine/suspects/stuck_wait.h"

static bool is_set(const struct inspection *l, int fd)
{
	for (size_t i = 0; i < l->registrations.nsets; i++)
		if (l->registrations.sets[i] == fd)
			return true;
	return false;
}

// The set in whose wait the thread is; -1: none.
static int waits_in(const struct proc_task *t)
{
	return inspect_in_epoll(t) || (t->got_regs && inspect_epoll_call(t->nr)) ? (int)t->args[0] : -1;
}

static int by_itself(const struct inspection *l, int epfd)
{
	struct ctp_fd e = {0}, f = {0};
	bool known = inspect_fd(l->r, (uint64_t)(uint32_t)epfd, &e);
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		int in = waits_in(t);
		bool same = in >= 0 && in != epfd && known && inspect_fd(l->r, (uint64_t)in, &f) &&
			    f.desc == e.desc;
		if (in == epfd || same || (l->polled && polled_has(&l->polled[i], epfd)))
			return t->tid;
	}
	return 0;
}

static int within(const struct inspection *l, int epfd, int depth)
{
	int tid = by_itself(l, epfd);
	for (size_t i = 0; !tid && depth < POLLER_NESTED_MAX && i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (reg->tfd == epfd && (reg->events & CTP_REG_EVENTS) && is_set(l, epfd))
			tid = within(l, reg->epfd, depth + 1);
	}
	return tid;
}

int poller(const struct inspection *l, int epfd)
{
	return within(l, epfd, 0);
}

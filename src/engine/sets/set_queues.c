// SPDX-License-Identifier: MIT
//
// Is what a coroutine waits for ready? The kernel is asked, by poll on a copy of the descriptor
// (pidfd_getfd) that lives as long as that call: the length of a queue does not answer it
// (SO_RCVLOWAT), and a pipe may be full for one writer and not for another.
#include "engine/sets/set_queues.h"

#include <jansson.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/living.h"
#include "ctp/there.h"
#include "engine/sets/set_line.h"
#include "engine/sets/set_threads.h"

enum { QUEUES_MAX = 4096, OUTSIDE_MAX = 16 };

// Its other end is, or was made, in this program.
static bool inside(const struct ctp_fd *f)
{
	return (f->opened_how == CTP_CALL_PIPE || f->opened_how == CTP_CALL_SOCKETPAIR ||
		f->opened_how == CTP_CALL_DUP || f->opened_how == CTP_CALL_DUP2 ||
		f->opened_how == CTP_CALL_DUP3 || f->opened_how == CTP_CALL_FCNTL) ?
		       f->peer_desc != 0 || f->kind == CTP_FD_EVENTFD :
		       f->opened_how == CTP_CALL_EVENTFD;
}

static bool waits_inside(const struct ctp_region *r, const struct ctp_wait *w)
{
	struct ctp_fd f;
	return w->fd >= 0 && inspect_fd(r, (uint64_t)w->fd, &f) && f.life == CTP_FD_OPEN && f.gen == w->gen &&
	       inside(&f);
}

// The next suspended coroutine from station *i on that has one wait, for such a queue.
static bool next(const struct ctp_region *r, uint64_t *i, struct ctp_state *s)
{
	struct ctp_walk w = ctp_walk_states(r);
	for (*i = ctp_walk_from(&w, *i); *i < w.n; *i = ctp_walk_from(&w, *i + 1)) {
		const struct ctp_state *c = &r->states[*i];
		if (ctp_load32(&c->owner) != CTP_OWNER_GUEST || c->life != CTP_SUSPENDED || c->nwaits != 1 ||
		    c->entity != CTP_COROUTINE || !ctp_state_read(c, s))
			continue;
		if (s->life == CTP_SUSPENDED && s->nwaits == 1 && waits_inside(r, &s->waits[0])) {
			++*i;
			return true;
		}
	}
	return false;
}

// Is there such a queue at all? Of descriptors there are fewer than of coroutines.
static bool any_inside(const struct ctp_region *r)
{
	struct ctp_walk w = ctp_walk_fds(r);
	for (uint64_t fd = ctp_walk_from(&w, 0); fd < w.n; fd = ctp_walk_from(&w, fd + 1)) {
		struct ctp_fd f;
		if (r->fds[fd].life == CTP_FD_OPEN && inspect_fd(r, fd, &f) && f.life == CTP_FD_OPEN &&
		    inside(&f))
			return true;
	}
	return false;
}

bool set_queues_any(const struct ctp_region *r, unsigned many)
{
	struct ctp_state s;
	uint64_t i = 0;
	if (!any_inside(r))
		return false;
	while (many && next(r, &i, &s))
		many--;
	return !many;
}

// -1: cannot be told. *unread: bytes.
static int ready(int pidfd, int fd, short events, int *unread)
{
	int copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	struct pollfd p = {.fd = copy, .events = events};
	if (copy < 0)
		return -1;
	int r = poll(&p, 1, 0);
	if (unread && ioctl(copy, FIONREAD, unread))
		*unread = 0;
	close(copy);
	return r < 0 ? -1 : p.revents != 0;
}

static void unread_lines(FILE *out, const struct inspection *l, int pidfd)
{
	struct ctp_walk w = ctp_walk_fds(l->r);
	unsigned asked = 0;
	for (uint64_t fd = ctp_walk_from(&w, 0); fd < w.n && asked < QUEUES_MAX;
	     fd = ctp_walk_from(&w, fd + 1)) {
		struct ctp_fd f;
		int bytes = 0;
		if (l->r->fds[fd].life != CTP_FD_OPEN || !inspect_fd(l->r, fd, &f) || f.life != CTP_FD_OPEN ||
		    !f.peer_desc || !inside(&f) || signals_late(l->deadline_ns))
			continue;
		asked++;
		if (ready(pidfd, (int)fd, POLLIN, &bytes) == 1 && bytes > 0)
			set_line(out, json_pack("{s:i, s:s, s:i, s:I, s:i}", "v", 1, "what", "unread", "fd",
						(int)fd, "gen", (json_int_t)f.gen, "bytes", bytes));
	}
}

// Does another registration, armed, lead to it? True also if not all could be read.
static bool referenced(const struct inspection *l, const struct ctp_state *s)
{
	const struct ctp_wait *w = &s->waits[0];
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (!(reg->events & CTP_REG_EVENTS) || reg->tfd == w->fd || reg->tfd < 0 ||
		    (uint32_t)reg->tfd >= l->r->fds_max)
			continue;
		const struct ctp_fd *f = &l->r->fds[reg->tfd];
		if (((w->how & CTP_WAIT_REGISTERED) && reg->data == w->data) || f->adder == s->id ||
		    f->learned == s->id || (f->leads & CTP_ID_MASK) == s->id)
			return true;
	}
	return !l->registrations.complete;
}

// Who else can write to the pipe, and what that process does.
static void add_writer(json_t *o, const struct inspection *l, int fd, struct set_outside_seen *seen)
{
	pid_t writer = set_outside_is(l->r, (uint64_t)fd) ? set_outside_writer(l, fd) : 0;
	struct set_outside_does does;
	if (!o || !writer)
		return;
	json_object_set_new(o, "writer", json_integer(writer));
	if (!set_outside_ask(seen, l->pid, writer, &does))
		return;
	json_object_set_new(o, "child", json_boolean(does.child));
	json_object_set_new(o, "sleeps", json_boolean(does.sleeps));
	if (does.call)
		json_object_set_new(o, "call", json_string(does.call));
	if (*does.wchan)
		json_object_set_new(o, "wchan", json_string(does.wchan));
	if (does.still_ns)
		json_object_set_new(o, "still_ns", json_integer((json_int_t)does.still_ns));
}

void set_queues(FILE *out, const struct inspection *l, struct set_outside_seen *outside)
{
	int pidfd = living_pidfd(l->pid);
	struct ctp_state s;
	unsigned asked = 0, writers = 0;
	if (pidfd < 0)
		return;
	for (uint64_t i = 0; asked < QUEUES_MAX && next(l->r, &i, &s) && !signals_late(l->deadline_ns);
	     asked++) {
		const struct ctp_wait *w = &s.waits[0];
		bool to_write = (w->events & EPOLLOUT) && !(w->events & EPOLLIN);
		int is = ready(pidfd, w->fd, to_write ? POLLOUT : POLLIN, NULL);
		if (is < 0)
			continue;
		json_t *o = json_pack("{s:i, s:s, s:I, s:I, s:i, s:I, s:b, s:b, s:b}", "v", 1, "what",
				      "queue", "coroutine", (json_int_t)s.id, "changes",
				      (json_int_t)s.changes, "fd", w->fd, "gen", (json_int_t)w->gen, "out",
				      to_write, "ready", is, "led", referenced(l, &s));
		if (!is && !to_write && writers++ < OUTSIDE_MAX)
			add_writer(o, l, w->fd, outside);
		set_line(out, o);
	}
	if (asked >= 2 || set_threads_any(l->r))
		unread_lines(out, l, pidfd);
	close(pidfd);
}

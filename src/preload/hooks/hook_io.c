// SPDX-License-Identifier: MIT
//
// Calls that can block on a descriptor. All are alike: the thread's wait is marked around the
// real call, unless the descriptor is known not to block, and EAGAIN (or EINPROGRESS) is
// remembered as what the coroutine will wait for if it suspends next. errno is read only after
// the real call and in a function of its own, as the call may have returned on another thread.
// That a descriptor does not block is a hint (ioctl and other processes change it unseen):
// where it is wrong, a thread sleeps in a call that it did not mark, as in a raw system call.
#include "preload/hooks/hook.h"
#include "preload/guest/exit.h"

#include <sys/signalfd.h>
#include <sys/syscall.h>

// Is it one that does not block? Asked once a generation, where EAGAIN says that it may be so.
static __attribute__((noinline)) void learn_nonblock(struct ctp_fd *e, int fd, uint32_t gen)
{
	long flags = guest_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
	if (!fds_take(e))
		return;
	if (e->gen == gen) {
		fd_private(e)->asked |= FD_ASKED_FLAGS;
		if (flags >= 0 && (flags & O_NONBLOCK))
			ctp_poke(&e->flags, e->flags | CTP_FD_NONBLOCK);
	}
	fds_give(e);
}

static inline void failed(struct thread_ctx *g, struct ctp_fd *e, int fd, uint32_t events,
			  const struct frame *f)
{
	int why = errno;
	g->eagain = g->probed = false;
	if (CTP_UNLIKELY(why == EBADF))
		bad_used(g, fd, events, f);
	if (why != EAGAIN && why != EINPROGRESS) {
		if (CTP_UNLIKELY((why == EMFILE || why == ENFILE) && events == EPOLLIN))
			fd_waits_full(g, fd);
		return;
	}
	uint32_t gen = CTP_LIKELY(e && ctp_peek(&e->life) == CTP_FD_OPEN) ? ctp_peek(&e->gen) :
									    fds_gen(g, fd);
	g->eagain = gen != 0;
	g->eagain_gen = gen;
	g->eagain_fd = fd;
	g->eagain_events = events;
	if (CTP_UNLIKELY(gen && !(e->flags & CTP_FD_NONBLOCK) && !(fd_private(e)->asked & FD_ASKED_FLAGS)))
		learn_nonblock(e, fd, gen);
}

// An event descriptor was written that this very thread reads: what it adds to its own loop (a source of
// GLib's) wakes that loop, and says nothing of what the coroutine tried before.
static __attribute__((noinline)) bool wakes_own_loop(const struct thread_ctx *g, const struct ctp_fd *e,
						     int fd, uint32_t events)
{
	uint64_t reader = e ? ctp_load64(&e->last_in) & ~CTP_FD_SEVERAL : 0;
	return reader && events == EPOLLOUT && fd != g->eagain_fd && ctp_peek(&e->kind) == CTP_FD_EVENTFD &&
	       (reader == (CTP_FD_UNNAMED | g->slot) || (g->native && reader == g->native->id));
}

// Who reads it, who writes it: one store when that changes. For who waits for whom.
static inline void succeeded(struct thread_ctx *g, struct ctp_fd *e, ssize_t r, int fd, uint32_t events,
			     const struct frame *f)
{
	if (CTP_UNLIKELY(g->eagain))
		g->eagain = wakes_own_loop(g, e, fd, events);
	if (CTP_UNLIKELY(e && events == EPOLLIN && (g->nwaits || !r)))
		fd_waits_served(g, e, fd, !r);
	if (!e)
		return;
	uint64_t *last = events == EPOLLIN ? &e->last_in : &e->last_out, was = ctp_load64(last),
		 who = guest_who(g);
	if (!who)
		who = CTP_FD_UNNAMED | g->slot;
	if ((was & ~CTP_FD_SEVERAL) != who) {
		ctp_store64(last, who | (was ? CTP_FD_SEVERAL : 0));
		if (CTP_UNLIKELY(events == EPOLLIN && r && e->waiter[0]))
			taken_find(g, e, fd, f);
	}
	g->current->tried = 0;
	if (r || events != EPOLLIN)
		io_note_latest(e, events);
	if (CTP_UNLIKELY(e->flags & (CTP_FD_MANY | CTP_FD_DUPED)))
		spurious_served(e, fd);
}

static __attribute__((noinline)) void touched(struct thread_ctx *g, const struct ctp_fd *e, int fd,
					      uint32_t events, const struct frame *f)
{
	const struct ctp_state *s = g->current;
	for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++)
		if (s->waits[i].fd == fd && s->waits[i].gen != e->gen)
			bad_touched(g, fd, s->waits[i].gen, events, f);
}

__attribute__((noinline)) ssize_t hook_io_leave(struct thread_ctx *g, ssize_t r, int fd, uint32_t events,
						bool waited, const struct frame *f)
{
	if (!g || !g->plain) {
		if (g)
			guest_leave(g);
		g = hook_enter_slow();
		if (!g)
			return r;
		if (waited)
			wait_leave(g);
	}
	if (CTP_UNLIKELY(g->timed))
		blocked_end(g);
	struct ctp_fd *e = fds_entry_by(g, fd);
	if (CTP_UNLIKELY(e && io_touches(g->current, e, fd)))
		touched(g, e, fd, events, f);
	if (r == -1)
		failed(g, e, fd, events, f);
	else
		succeeded(g, e, r, fd, events, f);
	guest_leave(g);
	return r;
}

// The signals in what was read from a signalfd.
static void signals_read(int fd, const struct signalfd_siginfo *si, ssize_t bytes)
{
	const struct ctp_fd *e = fds_entry(fd);
	if (!e || e->kind != CTP_FD_SIGNALFD)
		return;
	for (; bytes >= (ssize_t)sizeof(*si); bytes -= (ssize_t)sizeof(*si), si++)
		hook_signal_noted((int)si->ssi_signo);
}

#define IO_HOOK(type, name, events, now, params, args) \
	CTP_HOOK type name params \
	{ \
		IO_CALL(type, r, events, now, real_##name args); \
		return r; \
	}

#define READ_HOOK(name, params, args) \
	HOOK_INLINE ssize_t name##_signals params \
	{ \
		IO_CALL(ssize_t, r, EPOLLIN, false, real_##name args); \
		if (r > 0) \
			signals_read(fd, buf, r); \
		return r; \
	} \
	CTP_HOOK ssize_t name params \
	{ \
		if (CTP_UNLIKELY(hook_signal_by_fd)) \
			return name##_signals args; \
		IO_CALL(ssize_t, r, EPOLLIN, false, real_##name args); \
		return r; \
	}

READ_HOOK(read, (int fd, void *buf, size_t n), (fd, buf, n))
READ_HOOK(__read_chk, (int fd, void *buf, size_t n, size_t buflen), (fd, buf, n, buflen))

// What the next ones get in `flags`.
#define NOW ((flags & MSG_DONTWAIT) != 0)

IO_HOOK(ssize_t, readv, EPOLLIN, false, (int fd, const struct iovec *iov, int n), (fd, iov, n))
IO_HOOK(ssize_t, pread, EPOLLIN, false, (int fd, void *buf, size_t n, off_t off), (fd, buf, n, off))
IO_HOOK(ssize_t, pread64, EPOLLIN, false, (int fd, void *buf, size_t n, off64_t off), (fd, buf, n, off))
IO_HOOK(ssize_t, preadv, EPOLLIN, false, (int fd, const struct iovec *iov, int n, off_t off),
	(fd, iov, n, off))
IO_HOOK(ssize_t, preadv64, EPOLLIN, false, (int fd, const struct iovec *iov, int n, off64_t off),
	(fd, iov, n, off))
IO_HOOK(ssize_t, __pread_chk, EPOLLIN, false, (int fd, void *buf, size_t n, off_t off, size_t buflen),
	(fd, buf, n, off, buflen))
IO_HOOK(ssize_t, __pread64_chk, EPOLLIN, false, (int fd, void *buf, size_t n, off64_t off, size_t buflen),
	(fd, buf, n, off, buflen))

IO_HOOK(ssize_t, recv, EPOLLIN, NOW, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags))
IO_HOOK(ssize_t, recvfrom, EPOLLIN, NOW,
	(int fd, void *restrict buf, size_t n, int flags, __SOCKADDR_ARG addr, socklen_t *restrict len),
	(fd, buf, n, flags, addr, len))
IO_HOOK(ssize_t, __recv_chk, EPOLLIN, NOW, (int fd, void *buf, size_t n, size_t buflen, int flags),
	(fd, buf, n, buflen, flags))
IO_HOOK(ssize_t, __recvfrom_chk, EPOLLIN, NOW,
	(int fd, void *buf, size_t n, size_t buflen, int flags, struct sockaddr *addr, socklen_t *len),
	(fd, buf, n, buflen, flags, addr, len))

IO_HOOK(ssize_t, write, EPOLLOUT, false, (int fd, const void *buf, size_t n), (fd, buf, n))
IO_HOOK(ssize_t, writev, EPOLLOUT, false, (int fd, const struct iovec *iov, int n), (fd, iov, n))
IO_HOOK(ssize_t, pwrite, EPOLLOUT, false, (int fd, const void *buf, size_t n, off_t off), (fd, buf, n, off))
IO_HOOK(ssize_t, pwrite64, EPOLLOUT, false, (int fd, const void *buf, size_t n, off64_t off),
	(fd, buf, n, off))
IO_HOOK(ssize_t, pwritev, EPOLLOUT, false, (int fd, const struct iovec *iov, int n, off_t off),
	(fd, iov, n, off))
IO_HOOK(ssize_t, pwritev64, EPOLLOUT, false, (int fd, const struct iovec *iov, int n, off64_t off),
	(fd, iov, n, off))

IO_HOOK(ssize_t, send, EPOLLOUT, NOW, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags))
IO_HOOK(ssize_t, sendto, EPOLLOUT, NOW,
	(int fd, const void *buf, size_t n, int flags, __CONST_SOCKADDR_ARG addr, socklen_t len),
	(fd, buf, n, flags, addr, len))
// Of the one that is written to: what is read is a file, which is always ready.
IO_HOOK(ssize_t, sendfile, EPOLLOUT, false, (int fd, int from, off_t *off, size_t n), (fd, from, off, n))
IO_HOOK(ssize_t, sendfile64, EPOLLOUT, false, (int fd, int from, off64_t *off, size_t n), (fd, from, off, n))

// They return 0, which is no end here.
CTP_HOOK int eventfd_read(int fd, eventfd_t *value)
{
	IO_CALL(ssize_t, r, EPOLLIN, false, real_eventfd_read(fd, value) ? -1 : (ssize_t)sizeof(*value));
	return r < 0 ? -1 : 0;
}

CTP_HOOK int eventfd_write(int fd, eventfd_t value)
{
	IO_CALL(ssize_t, r, EPOLLOUT, false, real_eventfd_write(fd, value) ? -1 : (ssize_t)sizeof(value));
	return r < 0 ? -1 : 0;
}

IO_HOOK(int, connect, EPOLLOUT, false, (int fd, __CONST_SOCKADDR_ARG addr, socklen_t len), (fd, addr, len))

// ------------------------------------------------------------- descriptors in messages

static inline bool rights(const struct cmsghdr *c)
{
	return c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len >= CMSG_LEN(0);
}

// Has it descriptors in it? Then others may hold what we wait for, unseen: until they take the message nobody
// shows it.
static __attribute__((noinline)) void message_sent(const struct msghdr *msg)
{
	struct thread_ctx *g = hook_enter();
	if (!g)
		return;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c))
		if (rights(c))
			ctp_add64(&ctp_tracer->region.ext->sent_fds, 1);
	guest_leave(g);
}

CTP_HOOK ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	IO_CALL(ssize_t, r, EPOLLOUT, NOW, real_sendmsg(fd, msg, flags));
	if (CTP_UNLIKELY(r >= 0 && msg->msg_controllen))
		message_sent(msg);
	return r;
}

CTP_HOOK int sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	IO_CALL(int, r, EPOLLOUT, NOW, real_sendmmsg(fd, msgs, n, flags));
	for (int i = 0; i < r; i++)
		if (CTP_UNLIKELY(msgs[i].msg_hdr.msg_controllen))
			message_sent(&msgs[i].msg_hdr);
	return r;
}

static void message_opened(const struct msghdr *msg, const struct fd_birth *b)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		if (!rights(c))
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++)
			hook_opened(((int *)CMSG_DATA(c))[i], b);
	}
}

CTP_HOOK ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	OPENING(CTP_CALL_RECVMSG, CTP_FD_OTHER);
	IO_CALL(ssize_t, r, EPOLLIN, NOW, real_recvmsg(fd, msg, flags));
	if (r >= 0 && msg->msg_controllen)
		message_opened(msg, &birth);
	return r;
}

CTP_HOOK int recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout)
{
	OPENING(CTP_CALL_RECVMSG, CTP_FD_OTHER);
	IO_CALL(int, r, EPOLLIN, NOW, real_recvmmsg(fd, msgs, n, flags, timeout));
	for (int i = 0; i < r; i++)
		if (msgs[i].msg_hdr.msg_controllen)
			message_opened(&msgs[i].msg_hdr, &birth);
	return r;
}

// ------------------------------------------------------------- listen

CTP_HOOK int listen(int fd, int backlog)
{
	int r = real_listen(fd, backlog);
	struct thread_ctx *g = r == 0 ? hook_enter() : NULL;
	if (!g)
		return r;
	struct ctp_fd *e = fds_gen(g, fd) ? fds_entry(fd) : NULL;
	if (e && fds_take(e)) {
		if (!(e->flags & CTP_FD_LISTENS)) // who begins to listen does not drain
			ctp_store64(&ctp_tracer->region.ext->listener_closed, 0);
		ctp_poke(&e->flags, e->flags | CTP_FD_LISTENS);
		fds_give(e);
	}
	guest_leave(g);
	return r;
}

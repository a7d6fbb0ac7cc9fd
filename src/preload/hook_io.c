// SPDX-License-Identifier: MIT
//
// Calls that can block on a descriptor. All are alike: the thread's wait is
// marked around the real call, and EAGAIN (or EINPROGRESS) is remembered as
// what the coroutine will wait for if it suspends next. errno is read only
// after the real call and in a function of its own, since the call may have
// ended on another thread.
#include "hook.h"

#include <sys/signalfd.h>

__attribute__((noinline)) void io_failed(struct guest *g, int fd, uint32_t events)
{
	int e = errno;
	g->eagain = g->probed = false;
	if (CTP_UNLIKELY(e == EBADF))
		bad_used(g, fd, events);
	if (e != EAGAIN && e != EWOULDBLOCK && e != EINPROGRESS)
		return;
	g->eagain_gen = fds_gen(g, fd);
	g->eagain = g->eagain_gen != 0;
	g->eagain_fd = fd;
	g->eagain_events = events;
}

// The signals in what was read from a signalfd.
static void signals_read(int fd, const struct signalfd_siginfo *si, ssize_t bytes)
{
	const struct ctp_fd *e = fds_entry(fd);
	if (!e || e->kind != CTP_FD_SIGNALFD)
		return;
	for (; bytes >= (ssize_t)sizeof(*si); bytes -= (ssize_t)sizeof(*si), si++)
		signal_noted((int)si->ssi_signo);
}

#define IO_HOOK(type, name, events, params, args) \
	CTP_HOOK type name params \
	{ \
		io_enter(fd); \
		type r = real_##name args; \
		return (type)io_leave(r, fd, (events)); \
	}

CTP_HOOK ssize_t read(int fd, void *buf, size_t n)
{
	io_enter(fd);
	ssize_t r = real_read(fd, buf, n);
	io_leave(r, fd, EPOLLIN);
	if (CTP_UNLIKELY(signal_by_fd && r > 0))
		signals_read(fd, buf, r);
	return r;
}

CTP_HOOK ssize_t __read_chk(int fd, void *buf, size_t n, size_t buflen)
{
	io_enter(fd);
	ssize_t r = real___read_chk(fd, buf, n, buflen);
	io_leave(r, fd, EPOLLIN);
	if (CTP_UNLIKELY(signal_by_fd && r > 0))
		signals_read(fd, buf, r);
	return r;
}

IO_HOOK(ssize_t, readv, EPOLLIN, (int fd, const struct iovec *iov, int n), (fd, iov, n))
IO_HOOK(ssize_t, pread, EPOLLIN, (int fd, void *buf, size_t n, off_t off), (fd, buf, n, off))
IO_HOOK(ssize_t, pread64, EPOLLIN, (int fd, void *buf, size_t n, off64_t off), (fd, buf, n, off))
IO_HOOK(ssize_t, preadv, EPOLLIN, (int fd, const struct iovec *iov, int n, off_t off), (fd, iov, n, off))
IO_HOOK(ssize_t, preadv64, EPOLLIN, (int fd, const struct iovec *iov, int n, off64_t off), (fd, iov, n, off))
IO_HOOK(ssize_t, __pread_chk, EPOLLIN, (int fd, void *buf, size_t n, off_t off, size_t buflen),
	(fd, buf, n, off, buflen))
IO_HOOK(ssize_t, __pread64_chk, EPOLLIN, (int fd, void *buf, size_t n, off64_t off, size_t buflen),
	(fd, buf, n, off, buflen))

IO_HOOK(ssize_t, recv, EPOLLIN, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags))
IO_HOOK(ssize_t, recvfrom, EPOLLIN,
	(int fd, void *restrict buf, size_t n, int flags, __SOCKADDR_ARG addr, socklen_t *restrict len),
	(fd, buf, n, flags, addr, len))
IO_HOOK(ssize_t, __recv_chk, EPOLLIN, (int fd, void *buf, size_t n, size_t buflen, int flags),
	(fd, buf, n, buflen, flags))
IO_HOOK(ssize_t, __recvfrom_chk, EPOLLIN,
	(int fd, void *buf, size_t n, size_t buflen, int flags, struct sockaddr *addr, socklen_t *len),
	(fd, buf, n, buflen, flags, addr, len))

IO_HOOK(ssize_t, write, EPOLLOUT, (int fd, const void *buf, size_t n), (fd, buf, n))
IO_HOOK(ssize_t, writev, EPOLLOUT, (int fd, const struct iovec *iov, int n), (fd, iov, n))
IO_HOOK(ssize_t, pwrite, EPOLLOUT, (int fd, const void *buf, size_t n, off_t off), (fd, buf, n, off))
IO_HOOK(ssize_t, pwrite64, EPOLLOUT, (int fd, const void *buf, size_t n, off64_t off), (fd, buf, n, off))
IO_HOOK(ssize_t, pwritev, EPOLLOUT, (int fd, const struct iovec *iov, int n, off_t off), (fd, iov, n, off))
IO_HOOK(ssize_t, pwritev64, EPOLLOUT, (int fd, const struct iovec *iov, int n, off64_t off), (fd, iov, n, off))

IO_HOOK(ssize_t, send, EPOLLOUT, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags))
IO_HOOK(ssize_t, sendto, EPOLLOUT,
	(int fd, const void *buf, size_t n, int flags, __CONST_SOCKADDR_ARG addr, socklen_t len),
	(fd, buf, n, flags, addr, len))
IO_HOOK(ssize_t, sendmsg, EPOLLOUT, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags))
IO_HOOK(int, sendmmsg, EPOLLOUT, (int fd, struct mmsghdr *msgs, unsigned n, int flags), (fd, msgs, n, flags))
IO_HOOK(int, connect, EPOLLOUT, (int fd, __CONST_SOCKADDR_ARG addr, socklen_t len), (fd, addr, len))

// ------------------------------------------------------------- descriptors that arrive in a message

static void message_opened(const struct msghdr *msg, const struct fd_birth *b)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR((struct msghdr *)msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(0))
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++)
			hook_opened(((int *)CMSG_DATA(c))[i], b);
	}
}

CTP_HOOK ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	OPENING(CTP_CALL_RECVMSG, CTP_FD_OTHER);
	io_enter(fd);
	ssize_t r = real_recvmsg(fd, msg, flags);
	io_leave(r, fd, EPOLLIN);
	if (r >= 0 && msg->msg_controllen)
		message_opened(msg, &birth);
	return r;
}

CTP_HOOK int recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout)
{
	OPENING(CTP_CALL_RECVMSG, CTP_FD_OTHER);
	io_enter(fd);
	int r = real_recvmmsg(fd, msgs, n, flags, timeout);
	io_leave(r, fd, EPOLLIN);
	for (int i = 0; i < r; i++)
		if (msgs[i].msg_hdr.msg_controllen)
			message_opened(&msgs[i].msg_hdr, &birth);
	return r;
}

// ------------------------------------------------------------- listen

CTP_HOOK int listen(int fd, int backlog)
{
	int r = real_listen(fd, backlog);
	struct guest *g = r == 0 ? hook_enter() : NULL;
	if (!g)
		return r;
	struct ctp_fd *e = fds_gen(g, fd) ? fds_entry(fd) : NULL;
	if (e && fds_take(e)) {
		e->flags |= CTP_FD_LISTENS;
		fds_give(e);
	}
	guest_leave(g);
	return r;
}

// SPDX-License-Identifier: MIT
//
// Openers: calls that return a new descriptor. Each reports to the table which call it was and
// what it returned; descriptors that come in other ways (inotify, pidfd, io_uring ...) are
// discovered when a coroutine first waits on them. Opening a path does not tell what kind of
// file it is: the kind is queried when it matters.
#include "preload/hooks/hook.h"

#include <stdarg.h>

#include "preload/fds/fds_plain.h"
#include "preload/guest/events.h"

int hook_opened(int fd, const struct fd_birth *b)
{
	struct thread_ctx *g = fd >= 0 ? hook_enter() : NULL;
	if (g) {
		fds_opened(g, fd, b);
		guest_leave(g);
	}
	return fd;
}

// ------------------------------------------------------------- files

#define OPEN_HOOK(name, params, args, flags) \
	CTP_HOOK int name params \
	{ \
		mode_t mode = 0; \
		if (__OPEN_NEEDS_MODE(flags)) { \
			va_list ap; \
			va_start(ap, flags); \
			mode = va_arg(ap, mode_t); \
			va_end(ap); \
		} \
		OPENING(CTP_CALL_OPEN, CTP_FD_OTHER); \
		return hook_opened(real_##name args, &birth); \
	}

OPEN_HOOK(open, (const char *path, int flags, ...), (path, flags, mode), flags)
OPEN_HOOK(open64, (const char *path, int flags, ...), (path, flags, mode), flags)
OPEN_HOOK(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), flags)
OPEN_HOOK(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode), flags)

#define OPENER_HOOK(name, call, kind, params, args) \
	CTP_HOOK int name params \
	{ \
		OPENING(call, kind); \
		return hook_opened(real_##name args, &birth); \
	}

// As hook_opened, in line: of what servers open most often.
HOOK_INLINE int opened_plainly(int fd, enum ctp_fd_call call, enum ctp_fd_kind kind_of_it, uint64_t since,
			       bool nonblock)
{
	struct fd_birth b;
	b.call = call;
	b.kind = kind_of_it;
	b.since = since;
	b.nonblock = nonblock;
	CPU_CALLER(&b.frame);
	struct thread_ctx *g = fd >= 0 ? hook_try() : NULL;
	bool plain = g && g->plain && fds_opened_plainly(g, fd, &b);
	if (g)
		guest_leave(g);
	if (CTP_LIKELY(plain))
		return fd;
	struct fd_birth other = b;
	return hook_opened(fd, &other);
}

// SOCK_NONBLOCK, EFD_NONBLOCK and the others are all O_NONBLOCK.
#define FLAGGED_HOOK(name, call, kind, flags_, params, args) \
	CTP_HOOK int name params \
	{ \
		uint64_t since = fds_births(); \
		enum ctp_fd_kind kind_of_it = kind; \
		bool nonblock = (flags_)&O_NONBLOCK; \
		return opened_plainly(real_##name args, call, kind_of_it, since, nonblock); \
	}

OPENER_HOOK(__open_2, CTP_CALL_OPEN, CTP_FD_OTHER, (const char *path, int flags), (path, flags))
OPENER_HOOK(__open64_2, CTP_CALL_OPEN, CTP_FD_OTHER, (const char *path, int flags), (path, flags))
OPENER_HOOK(__openat_2, CTP_CALL_OPEN, CTP_FD_OTHER, (int dir, const char *path, int flags),
	    (dir, path, flags))
OPENER_HOOK(__openat64_2, CTP_CALL_OPEN, CTP_FD_OTHER, (int dir, const char *path, int flags),
	    (dir, path, flags))
OPENER_HOOK(creat, CTP_CALL_OPEN, CTP_FD_FILE, (const char *path, mode_t mode), (path, mode))
OPENER_HOOK(creat64, CTP_CALL_OPEN, CTP_FD_FILE, (const char *path, mode_t mode), (path, mode))
OPENER_HOOK(mkstemp, CTP_CALL_OPEN, CTP_FD_FILE, (char *path), (path))
OPENER_HOOK(mkostemp, CTP_CALL_OPEN, CTP_FD_FILE, (char *path, int flags), (path, flags))
OPENER_HOOK(memfd_create, CTP_CALL_OPEN, CTP_FD_FILE, (const char *name, unsigned flags), (name, flags))

// ------------------------------------------------------------- the rest of one descriptor

FLAGGED_HOOK(socket, CTP_CALL_SOCKET, fd_socket_kind(domain, type), type,
	     (int domain, int type, int protocol), (domain, type, protocol))
OPENER_HOOK(epoll_create, CTP_CALL_EPOLL_CREATE, CTP_FD_EPOLL, (int size), (size))
OPENER_HOOK(epoll_create1, CTP_CALL_EPOLL_CREATE, CTP_FD_EPOLL, (int flags), (flags))
FLAGGED_HOOK(timerfd_create, CTP_CALL_TIMERFD, CTP_FD_TIMERFD, flags, (clockid_t clock, int flags),
	     (clock, flags))
FLAGGED_HOOK(eventfd, CTP_CALL_EVENTFD, CTP_FD_EVENTFD, flags, (unsigned count, int flags), (count, flags))

CTP_HOOK int signalfd(int fd, const sigset_t *mask, int flags)
{
	OPENING(CTP_CALL_SIGNALFD, CTP_FD_SIGNALFD);
	birth.nonblock = flags & O_NONBLOCK;
	int r = real_signalfd(fd, mask, flags);
	if (r < 0)
		return r;
	for (int sig = 1; sig < NSIG; sig++)
		hook_signal_by_fd |= hook_signal_ends(sig) && sigismember(mask, sig) == 1;
	return fd == -1 ? hook_opened(r, &birth) : r; // else only the mask of an open one has changed
}

// ------------------------------------------------------------- accept

// What an accepted connection inherits from its listener.
static enum ctp_fd_kind kind_of(int listener)
{
	const struct ctp_fd *e = ctp_tracer->attached && !ctp_tracer->v1 ? fds_entry(listener) : NULL;
	return e && e->life == CTP_FD_OPEN ? e->kind : CTP_FD_OTHER;
}

static int hook_accepted(int fd, const struct fd_birth *b)
{
	hook_opened(fd, b);
	events_look();
	return fd;
}

CTP_HOOK int accept(int fd, __SOCKADDR_ARG addr, socklen_t *restrict len)
{
	OPENING(CTP_CALL_ACCEPT, kind_of(fd));
	IO_CALL(int, r, EPOLLIN, false, real_accept(fd, addr, len));
	return hook_accepted(r, &birth);
}

CTP_HOOK int accept4(int fd, __SOCKADDR_ARG addr, socklen_t *restrict len, int flags)
{
	OPENING(CTP_CALL_ACCEPT, kind_of(fd));
	birth.nonblock = flags & O_NONBLOCK;
	IO_CALL(int, r, EPOLLIN, false, real_accept4(fd, addr, len, flags));
	return hook_accepted(r, &birth);
}

// ------------------------------------------------------------- duplicates

static int hook_duped(int from, int fd, const struct fd_birth *b)
{
	struct thread_ctx *g = fd >= 0 ? hook_enter() : NULL;
	if (g) {
		fds_duped(g, from, fd, b);
		guest_leave(g);
	}
	return fd;
}

CTP_HOOK int dup(int fd)
{
	OPENING(CTP_CALL_DUP, CTP_FD_OTHER);
	return hook_duped(fd, real_dup(fd), &birth);
}

static int hook_flags(int fd, long flags, int r)
{
	struct thread_ctx *g = r == 0 ? hook_enter() : NULL;
	if (g) {
		fds_nonblock(fd, flags & O_NONBLOCK);
		guest_leave(g);
	}
	return r;
}

// The third argument may be a number, a pointer or absent: it is passed on as a word.
#define FCNTL_HOOK(name) \
	CTP_HOOK int name(int fd, int cmd, ...) \
	{ \
		va_list ap; \
		va_start(ap, cmd); \
		void *arg = va_arg(ap, void *); \
		va_end(ap); \
		if (cmd == F_SETFL) \
			return hook_flags(fd, (long)arg, real_##name(fd, cmd, arg)); \
		if (cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC) \
			return real_##name(fd, cmd, arg); \
		OPENING(CTP_CALL_FCNTL, CTP_FD_OTHER); \
		return hook_duped(fd, real_##name(fd, cmd, arg), &birth); \
	}

FCNTL_HOOK(fcntl)
FCNTL_HOOK(fcntl64)

// ------------------------------------------------------------- pairs

static int pair_opened(int r, const int fd[2], const struct fd_birth *b)
{
	struct thread_ctx *g = r == 0 ? hook_enter() : NULL;
	if (g) {
		fds_opened_pair(g, fd, b);
		guest_leave(g);
	}
	return r;
}

CTP_HOOK int pipe(int fd[2])
{
	OPENING(CTP_CALL_PIPE, CTP_FD_PIPE);
	return pair_opened(real_pipe(fd), fd, &birth);
}

CTP_HOOK int pipe2(int fd[2], int flags)
{
	OPENING(CTP_CALL_PIPE, CTP_FD_PIPE);
	birth.nonblock = flags & O_NONBLOCK;
	return pair_opened(real_pipe2(fd, flags), fd, &birth);
}

CTP_HOOK int socketpair(int domain, int type, int protocol, int fd[2])
{
	OPENING(CTP_CALL_SOCKETPAIR, fd_socket_kind(domain, type));
	birth.nonblock = type & O_NONBLOCK;
	return pair_opened(real_socketpair(domain, type, protocol, fd), fd, &birth);
}

// ------------------------------------------------------------- streams

#define STREAM_HOOK(type, name, call, kind, number, params, args) \
	CTP_HOOK type *name params \
	{ \
		OPENING(call, kind); \
		type *s = real_##name args; \
		if (s) \
			hook_opened(number(s), &birth); \
		return s; \
	}

STREAM_HOOK(FILE, fopen, CTP_CALL_FOPEN, CTP_FD_OTHER, fileno_unlocked, (const char *path, const char *mode),
	    (path, mode))
STREAM_HOOK(FILE, fopen64, CTP_CALL_FOPEN, CTP_FD_OTHER, fileno_unlocked,
	    (const char *path, const char *mode), (path, mode))
STREAM_HOOK(FILE, popen, CTP_CALL_POPEN, CTP_FD_PIPE, fileno_unlocked,
	    (const char *command, const char *mode), (command, mode))
STREAM_HOOK(DIR, opendir, CTP_CALL_OPENDIR, CTP_FD_FILE, dirfd, (const char *path), (path))

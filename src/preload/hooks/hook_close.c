// SPDX-License-Identifier: MIT
//
// Closing calls: after them a number is no longer the same descriptor. The table is updated
// before (fds_ending: the kernel may give the number away before the call returns here) and
// after (fds_ended: whether the call counts). A close counts if it returned anything but
// EBADF: Linux has released the number even when close fails. dup2 and dup3 end their target
// only if they succeed and it was not the same description before; close_range with CLOEXEC
// ends nothing.
#include "preload/hooks/hook.h"

#include "preload/fds/fds_plain.h"

#include <linux/close_range.h>
#include <sched.h>
#include <sys/single_threaded.h>

static __attribute__((noinline)) void ending(struct fd_ends *x, int first, int last)
{
	struct thread_ctx *g = last >= first && last >= 0 ? hook_enter() : NULL;
	if (!g) {
		*x = (struct fd_ends){.first = 0, .last = -1};
		return;
	}
	fds_ending(g, x, first, last);
	guest_leave(g);
}

static __attribute__((noinline)) void ended(struct fd_ends *x, enum ctp_fd_call call, const struct frame *f,
					    bool counts)
{
	struct thread_ctx *g = x->last >= x->first ? hook_enter() : NULL;
	if (!g)
		return;
	fds_ended(g, x, call, f, counts);
	guest_leave(g);
}

// The same of a single number, which is nearly always done with little.
HOOK_INLINE bool ending_plainly(int fd, uint32_t *gen)
{
	struct thread_ctx *g = hook_try();
	bool plain = g && g->plain && fds_ending_plainly(g, fd, gen);
	if (g)
		guest_leave(g);
	return CTP_LIKELY(plain);
}

HOOK_INLINE bool ended_plainly(int fd, uint32_t gen, enum ctp_fd_call call)
{
	struct frame f;
	struct thread_ctx *g = hook_try();
	CPU_CALLER(&f);
	bool plain = g && g->plain && fds_ended_plainly(g, fd, gen, call, &f);
	if (g)
		guest_leave(g);
	return CTP_LIKELY(plain);
}

// Read after the real call only, in a function of its own: the thread may be another.
static __attribute__((noinline)) bool not_open(void)
{
	return errno == EBADF;
}

// Of a single number; what says whether it was refused, and by errno, is the caller's.
static void refused(int fd, enum ctp_fd_call call, const struct frame *f)
{
	struct thread_ctx *g = fd >= 0 && call != CTP_CALL_CLOSEDIR ? hook_enter() :
								      NULL; // that one is of who closes all
	if (!g)
		return;
	bad_closed(g, fd, call, f);
	guest_leave(g);
}

// All else, after the call. failed: it said so.
static __attribute__((noinline)) void ended_otherwise(struct fd_ends *x, int fd, enum ctp_fd_call call,
						      const struct frame *f, bool failed)
{
	bool counts = !failed || !not_open();
	ended(x, call, f, counts);
	if (!counts)
		refused(fd, call, f);
}

// (What is not done plainly is so in a function of its own, which the hook jumps to, as in hook_lock.c.)
#define ENDER_HOOK(type, name, call, number, failed, params, args) \
	static __attribute__((noinline)) type name##_otherwise params \
	{ \
		struct frame f; \
		struct fd_ends x; \
		int fd = number; \
		CPU_CALLER(&f); \
		ending(&x, fd, fd); \
		type r = real_##name args; \
		ended_otherwise(&x, fd, call, &f, r == (failed)); \
		return r; \
	} \
	CTP_HOOK type name params \
	{ \
		int fd = number; \
		uint32_t gen = 0; \
		if (!ending_plainly(fd, &gen)) \
			return name##_otherwise args; \
		type r = real_##name args; \
		if (CTP_LIKELY(r != (failed)) && ended_plainly(fd, gen, call)) \
			return r; \
		struct frame f; \
		struct fd_ends x = {.first = fd, .last = fd, .gen = gen, .open = true}; \
		CPU_CALLER(&f); \
		ended_otherwise(&x, fd, call, &f, r == (failed)); \
		return r; \
	}

// The number behind a stream, leaving errno alone; -1 if it has none. NULL is
// left to the real call to judge; `noipa`, as the headers promise gcc no NULL.
static __attribute__((noipa)) int stream_fd(FILE *s)
{
	int e = errno, fd = s ? fileno_unlocked(s) : -1;
	errno = e;
	return fd;
}

static __attribute__((noipa)) int dir_fd(DIR *d)
{
	return d ? dirfd(d) : -1;
}

ENDER_HOOK(int, close, CTP_CALL_CLOSE, fd_, -1, (int fd_), (fd_))
ENDER_HOOK(int, fclose, CTP_CALL_FCLOSE, stream_fd(s), EOF, (FILE * s), (s))
ENDER_HOOK(int, pclose, CTP_CALL_PCLOSE, stream_fd(s), -1, (FILE * s), (s))
ENDER_HOOK(int, closedir, CTP_CALL_CLOSEDIR, dir_fd(d), -1, (DIR * d), (d))

// ------------------------------------------------------------- ranges

// The highest number that the table knows, or `last` if that is less.
static int last_known(unsigned last)
{
	if (!ctp_tracer->attached || ctp_tracer->v1)
		return -1;
	uint64_t high = ctp_load64(&ctp_tracer->region.ext->fd_high);
	if (high >= ctp_tracer->region.fds_max)
		high = ctp_tracer->region.fds_max - 1;
	return last < high ? (int)last : (int)high;
}

// From now on this thread's numbers are not those of the others.
static void parted(void)
{
	struct thread_ctx *g = hook_enter();
	if (!g)
		return;
	ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_OWN_FDS);
	guest_leave(g);
}

CTP_HOOK int unshare(int flags)
{
	bool alone = __libc_single_threaded;
	int r = real_unshare(flags);
	if (r == 0 && (flags & CLONE_FILES) && !alone)
		parted();
	return r;
}

CTP_HOOK int close_range(unsigned first, unsigned last, int flags)
{
	struct frame f;
	struct fd_ends x;
	if (flags & CLOSE_RANGE_CLOEXEC)
		return real_close_range(first, last, flags);
	int high = last_known(last);
	CPU_CALLER(&f);
	ending(&x, first <= INT32_MAX ? (int)first : INT32_MAX, high);
	bool own = (flags & CLOSE_RANGE_UNSHARE) && !__libc_single_threaded;
	int r = real_close_range(first, last, flags);
	ended(&x, CTP_CALL_CLOSE_RANGE, &f, r == 0 && !own);
	if (r == 0 && own)
		parted();
	return r;
}

CTP_HOOK void closefrom(int first)
{
	struct frame f;
	struct fd_ends x;
	CPU_CALLER(&f);
	ending(&x, first > 0 ? first : 0, last_known(UINT32_MAX));
	real_closefrom(first);
	ended(&x, CTP_CALL_CLOSEFROM, &f, true);
}

// ------------------------------------------------------------- onto a number

// dup2(dup(F), F) closes nothing either: the number goes on as what it was.
static bool same(int from, int to)
{
	struct thread_ctx *g = hook_enter();
	bool r = g && fds_same(from, to);
	if (g)
		guest_leave(g);
	return r;
}

#define ONTO_HOOK(name, how, params, args) \
	CTP_HOOK int name params \
	{ \
		struct fd_ends x; \
		bool keeps = from == to || same(from, to); \
		OPENING(how, CTP_FD_OTHER); \
		ending(&x, to, keeps ? -1 : to); \
		int r = real_##name args; \
		if (keeps) \
			return r; \
		ended(&x, how, &birth.frame, r >= 0); \
		struct thread_ctx *g = r >= 0 ? hook_enter() : NULL; \
		if (g) { \
			fds_duped(g, from, to, &birth); \
			guest_leave(g); \
		} \
		return r; \
	}

ONTO_HOOK(dup2, CTP_CALL_DUP2, (int from, int to), (from, to))
ONTO_HOOK(dup3, CTP_CALL_DUP3, (int from, int to, int flags), (from, to, flags))

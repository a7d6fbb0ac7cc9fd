// SPDX-License-Identifier: MIT
//
// What a sleeping thread is blocked in. The kernel gives the call and its arguments; a hook that
// the thread is in gives more (the address of a lock, the caller's registers). A call that waits
// for nobody is no block: not one on a non-blocking descriptor; one on a regular file waits for
// the disk.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/living.h"
#include "ctp/seq.h"
#include "engine/inspect/inspect.h"
#include "engine/slices/slice.h"

enum { NONBLOCK = 04000, CALLS_MAX = 1024, CALL_TEXT = 20 };

enum call_kind { ON_FD, ON_POLL, ON_TIME, ON_FUTEX, ON_DISK, ON_OTHER };

static const struct {
	long nr;
	enum call_kind kind;
	const char *name;
} calls[] = {
	{SYS_read, ON_FD, "read"},
	{SYS_readv, ON_FD, "readv"},
	{SYS_preadv, ON_FD, "preadv"},
	{SYS_pread64, ON_FD, "pread"},
	{SYS_recvfrom, ON_FD, "recv"},
	{SYS_recvmsg, ON_FD, "recvmsg"},
	{SYS_recvmmsg, ON_FD, "recvmmsg"},
	{SYS_accept, ON_FD, "accept"},
	{SYS_accept4, ON_FD, "accept4"},
	{SYS_connect, ON_FD, "connect"},
	{SYS_write, ON_FD, "write"},
	{SYS_writev, ON_FD, "writev"},
	{SYS_pwrite64, ON_FD, "pwrite"},
	{SYS_pwritev, ON_FD, "pwritev"},
	{SYS_sendto, ON_FD, "send"},
	{SYS_sendmsg, ON_FD, "sendmsg"},
	{SYS_sendmmsg, ON_FD, "sendmmsg"},
	{SYS_sendfile, ON_FD, "sendfile"},
	{SYS_splice, ON_FD, "splice"},
	{SYS_tee, ON_FD, "tee"},
	{SYS_vmsplice, ON_FD, "vmsplice"},
	{SYS_copy_file_range, ON_FD, "copy_file_range"},
	{SYS_preadv2, ON_FD, "preadv2"},
	{SYS_pwritev2, ON_FD, "pwritev2"},
	{SYS_ioctl, ON_FD, "ioctl"},
	{SYS_mq_timedreceive, ON_FD, "mq_receive"},
	{SYS_mq_timedsend, ON_FD, "mq_send"},
	{SYS_fsync, ON_DISK, "fsync"},
	{SYS_fdatasync, ON_DISK, "fdatasync"},
	{SYS_sync_file_range, ON_DISK, "sync_file_range"},
	{SYS_syncfs, ON_DISK, "syncfs"},
	{SYS_sync, ON_DISK, "sync"},
	{SYS_semop, ON_OTHER, "semop"},
	{SYS_semtimedop, ON_OTHER, "semtimedop"},
	{SYS_msgrcv, ON_OTHER, "msgrcv"},
	{SYS_msgsnd, ON_OTHER, "msgsnd"},
	{SYS_rt_sigsuspend, ON_OTHER, "sigsuspend"},
	{SYS_io_uring_enter, ON_OTHER, "io_uring_enter"},
	{SYS_io_getevents, ON_OTHER, "io_getevents"},
#ifdef SYS_io_pgetevents
	{SYS_io_pgetevents, ON_OTHER, "io_pgetevents"},
#endif
	{SYS_flock, ON_OTHER, "flock"},
	{SYS_fcntl, ON_OTHER, "fcntl(F_SETLKW)"},
	{SYS_wait4, ON_OTHER, "waitpid"},
	{SYS_waitid, ON_OTHER, "waitid"},
	{SYS_nanosleep, ON_TIME, "nanosleep"},
	{SYS_clock_nanosleep, ON_TIME, "nanosleep"},
	{SYS_rt_sigtimedwait, ON_OTHER, "sigwait"},
	{SYS_epoll_pwait, ON_POLL, "epoll_wait"},
	{SYS_epoll_pwait2, ON_POLL, "epoll_wait"},
	{SYS_ppoll, ON_POLL, "poll"},
	{SYS_pselect6, ON_POLL, "select"},
	{SYS_futex, ON_FUTEX, "futex"},
#ifdef SYS_poll
	{SYS_poll, ON_POLL, "poll"},
	{SYS_select, ON_POLL, "select"},
	{SYS_epoll_wait, ON_POLL, "epoll_wait"},
	{SYS_pause, ON_OTHER, "pause"},
#endif
};

// A call that is not in the table.
static const char *unnamed(long nr)
{
	static char texts[CALLS_MAX][CALL_TEXT]; // they last: a finding may speak of them at the end
	if (nr < 0 || nr >= CALLS_MAX)
		return NULL;
	if (!*texts[nr])
		snprintf(texts[nr], CALL_TEXT, "system call %ld", nr);
	return texts[nr];
}

const char *slice_calls_name(int64_t nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].nr == nr)
			return calls[i].name;
	return unnamed(nr);
}

static const char *const blocks[] = {
	[CTP_BLOCK_SLEEP] = NULL,
	[CTP_BLOCK_LOCK] = "pthread_mutex_lock",
	[CTP_BLOCK_COND] = "pthread_cond_wait",
	[CTP_BLOCK_SEM] = "sem_wait",
	[CTP_BLOCK_JOIN] = "pthread_join",
	[CTP_BLOCK_CHILD] = NULL,
	[CTP_BLOCK_NAME] = "getaddrinfo",
	[CTP_BLOCK_FILE] = NULL,
};

// The hook that thread `slot` is in, copied; false if it is in none that this call is made by.
static bool hook_of(const struct ctp_region *r, uint32_t slot, const struct proc_task *t,
		    struct ctp_thread *out)
{
	if (!ctp_thread_read(&r->threads[slot], out) || !(out->wait_seq & 1))
		return false;
	uint64_t sp = out->wait_regs[CTP_REG_SP];
	if (sp < t->sp || sp - t->sp > HOOK_FRAMES)
		return false; // it left the hook by a jump, and sleeps elsewhere
	return out->wait_call != CTP_IN_IO || out->wait_fd == (int)t->args[0];
}

// Return addresses from these registers on, without those of libctp.so.
static void walk(const struct ctp_region *r, pid_t pid, struct unwind **u, struct ctp_state *st,
		 struct slice_stack *out)
{
	for (int tries = 0; tries < 2; tries++) {
		if (!*u && unwind_new(u, pid))
			return;
		out->n = unwind_walk(*u, st, NULL, out->pcs, UNWIND_FRAMES, NULL);
		if (out->n)
			break;
		unwind_free(*u); // a library that has come since?
		*u = NULL;
	}
	size_t n = 0;
	for (size_t i = 0; i < out->n; i++)
		if (out->pcs[i] < r->ext->self_base || out->pcs[i] >= r->ext->self_end)
			out->pcs[n++] = out->pcs[i];
	out->n = n;
}

static void stack_of(const struct ctp_region *r, pid_t pid, const struct proc_task *t,
		     const struct ctp_thread *hook, const struct ctp_state *state, struct unwind **u,
		     struct slice_stack *out)
{
	struct ctp_state st = {0};
	if (state)
		st = *state;
	if (hook) {
		memcpy(st.regs, hook->wait_regs, sizeof(st.regs));
	} else {
		memset(st.regs, 0, sizeof(st.regs));
		st.regs[CTP_REG_PC] = t->pc;
		st.regs[CTP_REG_SP] = t->sp;
	}
	walk(r, pid, u, &st, out);
}

// What the descriptor lets it wait for: a disk, others, nobody.
static enum slice_kind judge_fd(const struct ctp_region *r, pid_t pid, int fd, struct slice_block *b)
{
	char path[64], *text;
	struct stat st;
	struct ctp_fd f;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(pid), fd);
	if (stat(path, &st))
		return SLICE_NONE;
	snprintf(path, sizeof(path), "fdinfo/%d", fd);
	if (proc_slurp(pid, path, &text, NULL))
		return SLICE_NONE;
	bool nonblock = proc_field(text, "flags:", 8) & NONBLOCK;
	free(text);
	b->fd = fd;
	if (inspect_fd(r, (uint64_t)fd, &f)) {
		b->gen = f.gen;
		b->fd_kind = f.kind;
	}
	if (S_ISFIFO(st.st_mode))
		b->fd_kind = CTP_FD_PIPE;
	if (nonblock)
		return SLICE_NONE;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) ? SLICE_DISK : SLICE_CALL;
}

// Who holds the lock, and what runs there.
static void find_owner(const struct ctp_region *r, pid_t pid, struct unwind **u,
		       const struct ctp_thread *hook, struct slice_block *b)
{
	union {
		pthread_mutex_t mutex;
		pthread_rwlock_t rwlock;
	} lock;
	size_t bytes = hook->wait_buf_bytes;
	if ((bytes != sizeof(lock.mutex) && bytes != sizeof(lock.rwlock)) ||
	    proc_peek(pid, b->lock, &lock, bytes, false) != bytes)
		return;
	bool mutex = bytes == sizeof(lock.mutex);
	b->owner_tid = (uint32_t)(mutex ? lock.mutex.__data.__owner : lock.rwlock.__data.__cur_writer);
	if (!mutex)
		b->call = "pthread_rwlock";
	uint32_t high = ctp_load32(&r->ext->thread_high);
	for (uint32_t i = 0; b->owner_tid && i < high && i < r->threads_max; i++) {
		struct ctp_thread th;
		struct proc_task t;
		if (ctp_load32(&r->threads[i].life) != CTP_THREAD_LIVE || r->threads[i].tid != b->owner_tid)
			continue;
		b->owner = ctp_load64(&r->threads[i].current);
		if (proc_task_read(pid, (int)b->owner_tid, true, &t) && t.state == 'S' && t.nr >= 0)
			stack_of(r, pid, &t, hook_of(r, i, &t, &th) ? &th : NULL, NULL, u, &b->owner_stack);
	}
}

static void name_lock(const struct ctp_region *r, pid_t pid, struct unwind **u, const struct ctp_thread *hook,
		      const struct proc_task *t, struct slice_block *b)
{
	b->kind = SLICE_LOCK;
	b->lock = t->args[0];
	if (!hook || hook->wait_call != CTP_IN_BLOCK)
		return;
	if (hook->wait_buf)
		b->lock = hook->wait_buf;
	if (hook->wait_fd == CTP_BLOCK_LOCK)
		find_owner(r, pid, u, hook, b);
}

// The call that goes on by restart_syscall: it was stopped once, before we looked.
static long began_as(const struct ctp_thread *hook)
{
	if (hook && hook->wait_call == CTP_IN_POLL)
		return SYS_ppoll;
	if (hook && hook->wait_call == CTP_IN_BLOCK && hook->wait_fd == CTP_BLOCK_SLEEP)
		return SYS_nanosleep;
	return hook && hook->wait_call == CTP_IN_BLOCK ? SYS_futex : SYS_restart_syscall;
}

void slice_blocked_in(const struct ctp_region *r, pid_t pid, const struct proc_task *t, uint32_t slot,
		      const struct ctp_state *state, struct unwind **u, struct slice_block *b)
{
	struct ctp_thread th;
	const struct ctp_thread *hook = hook_of(r, slot, t, &th) ? &th : NULL;
	unsigned what = hook && hook->wait_call == CTP_IN_BLOCK ? (unsigned)hook->wait_fd : 0;
	const char *named = what < sizeof(blocks) / sizeof(*blocks) ? blocks[what] : NULL;
	long nr = t->nr == SYS_restart_syscall ? began_as(hook) : t->nr;
	*b = (struct slice_block){.fd = -1};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].nr != nr)
			continue;
		b->call = named ? named : calls[i].name;
		b->kind = SLICE_CALL;
		if (calls[i].kind == ON_FUTEX)
			name_lock(r, pid, u, hook, t, b);
		else if (calls[i].kind == ON_FD && what != CTP_BLOCK_NAME)
			b->kind = judge_fd(r, pid, (int)t->args[0], b);
		else if (calls[i].kind == ON_DISK)
			b->kind = SLICE_DISK;
		b->polls = calls[i].kind == ON_POLL && what != CTP_BLOCK_NAME;
		break;
	}
	if (!b->call && nr != SYS_restart_syscall && (b->call = named ? named : unnamed(nr)) != NULL)
		b->kind = SLICE_CALL;
	if (b->kind)
		stack_of(r, pid, t, hook, state, u, &b->stack);
}

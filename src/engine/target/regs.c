// SPDX-License-Identifier: MIT
//
// Reads registers of a sleeping thread by PTRACE_SEIZE and PTRACE_INTERRUPT. These have no visible
// effect in futex, nanosleep, pause and wait4, which the kernel restarts, but make epoll_wait fail, so the
// caller chooses which threads to stop (inspect/restarts.c). A signal that is being delivered when the thread
// is detached is passed on. A thread that stops after the deadline is detached when it does; otherwise it
// would stay stopped. A thread that dies while it is traced stays a zombie, and its process with it, until it
// is reaped here.
#include "engine/target/regs.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/target/signals.h"
#include "find/registers.h"
#include "unwind/arch.h"

#ifdef NT_X86_XSTATE
enum { REGS_VECTORS = NT_X86_XSTATE };
#else
enum { REGS_VECTORS = NT_PRFPREG };
#endif

enum { OWED_MOST = 64 };
static int owed[OWED_MOST]; // threads that are detached once they have stopped
static unsigned n_owed;

// An event stop carries the event above the signal; a plain one is a signal on its way.
static int on_its_way(int stopped_by)
{
	return stopped_by >> 8 ? 0 : stopped_by;
}

static bool wait_stop(int tid, int *sig, uint64_t deadline_ns)
{
	for (;;) {
		siginfo_t si = {0};
		if (waitid(P_PID, (id_t)tid, &si, WSTOPPED | WNOHANG | __WALL))
			return false;
		if (si.si_pid == tid) {
			*sig = on_its_way(si.si_status);
			return true;
		}
		if (signals_late(deadline_ns))
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
}

// Vector registers too: a compiler may spill a pointer there across a system call of the program's own.
static bool take_vectors(struct proc_task *t)
{
	enum { ROOM = 1 << 14 };
	unsigned char *v = malloc(ROOM);
	struct iovec io = {.iov_base = v, .iov_len = ROOM};
	if (!v)
		return false;
	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)(uintptr_t)REGS_VECTORS, &io)) {
		io = (struct iovec){.iov_base = v, .iov_len = ROOM};
		if (ptrace(PTRACE_GETREGSET, t->tid, (void *)(uintptr_t)NT_PRFPREG, &io)) {
			free(v);
			return false;
		}
	}
	free(t->vectors);
	t->vectors = v;
	t->vector_bytes = io.iov_len;
	return true;
}

// Lets go who has stopped by now; who is gone is nobody's.
static void settle(void)
{
	for (unsigned i = n_owed; i-- > 0;) {
		siginfo_t si = {0};
		bool gone = waitid(P_PID, (id_t)owed[i], &si, WSTOPPED | WNOHANG | __WALL);
		if (gone)
			owed[i] = owed[--n_owed];
		else if (si.si_pid == owed[i])
			regs_stopped(owed[i], si.si_status);
	}
}

bool regs_stopped(int tid, int by)
{
	for (unsigned i = 0; i < n_owed; i++) {
		if (owed[i] != tid)
			continue;
		ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)on_its_way(by));
		owed[i] = owed[--n_owed];
		return true;
	}
	return false;
}

bool regs_take(struct proc_task *t, bool keep, uint64_t deadline_ns)
{
	int sig = 0;
	uint64_t words[64];
	settle(); // it may be one of them
	if (ptrace(PTRACE_SEIZE, t->tid, NULL, NULL))
		return false;
	bool ok = !ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) && wait_stop(t->tid, &sig, deadline_ns);
	if (ok) {
		struct iovec io = {.iov_base = words, .iov_len = sizeof(words)};
		ok = !ptrace(PTRACE_GETREGSET, t->tid, (void *)(uintptr_t)NT_PRSTATUS, &io);
		size_t n = ok ? io.iov_len / 8 : 0, room = sizeof(t->regs) / sizeof(*t->regs);
		memcpy(t->regs, words, (n < room ? n : room) * 8);
		t->got_regs = ok = ok && n > ARCH_RESULT_WORD && take_vectors(t);
		t->result = ok ? (int64_t)words[ARCH_RESULT_WORD] : 0;
	}
	t->stop_signal = sig;
	if (!keep || !ok) {
		if (ok && !sig) // it may have gone on to another call since it was looked at
			registers_begin_anew(t->tid, true);
		regs_release(t);
		return ok;
	}
	return true;
}

void regs_release(const struct proc_task *t)
{
	if (!ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->stop_signal) || errno != ESRCH)
		return;
	// It did not stop in time, and ptrace detaches only what has stopped.
	int sig = 0;
	if (wait_stop(t->tid, &sig, proc_now_ns() + 20000000))
		ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)sig);
	else if (n_owed < OWED_MOST)
		owed[n_owed++] = t->tid;
}

void regs_reap(pid_t child)
{
	settle();
	for (;;) {
		siginfo_t si = {0};
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) || !si.si_pid ||
		    si.si_pid == child)
			return;
		waitid(P_PID, (id_t)si.si_pid, &si, WEXITED | WNOHANG | __WALL);
	}
}

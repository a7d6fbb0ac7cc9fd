// SPDX-License-Identifier: MIT
//
// A thread is asked to stop (PTRACE_SEIZE and PTRACE_INTERRUPT: no signal), all its registers are kept, and
// it runs our calls on a stack of its own. A call returns to the system call instruction in which the thread
// slept: at that stop the call is over, and the kernel is told to skip the instruction. So no code is written
// into the process, and none of its signal handlers runs: all signals wait until the end.
//
// The call in which the thread slept is begun again at the end. The kernel would end epoll_wait with EINTR,
// which a program sees (signal(7)); so that is not left to the kernel. A thread is chosen that waits for
// events without a timeout, if there is one, as a timeout would begin anew, too.
//
// A thread that sleeps in a wait for events holds no lock of malloc or of the loader: one that sleeps on a
// futex may.
#include "engine/attach/remote.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/living.h"
#include "engine/target/proc.h"

#ifdef __x86_64__
#include <sys/user.h>

// RESTART_*: what a call that is to be begun again has left in rax (the kernel's ERESTARTSYS and its like).
enum { STACK_BYTES = 1 << 20, RESTART_FIRST = 512, RESTART_BLOCK = 516 };

struct saved {
	struct user_regs_struct regs;
	unsigned char fp[16384];
	size_t fp_bytes;
};

static int fail(struct remote *r, int error, const char *why)
{
	snprintf(r->why, sizeof(r->why), "%s", why);
	return error;
}

// How well a thread may be used: 0 not at all; more is better. It sleeps in a wait for events, or in one for
// data; without a timeout is best.
static int fitness(pid_t pid, pid_t tid)
{
	struct proc_task t;
	if (!proc_task_read(pid, tid, true, &t))
		return 0;
	switch (t.nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)t.args[3] < 0 ? 4 : 2;
	case SYS_poll:
		return (int)t.args[2] < 0 ? 4 : 2;
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_rt_sigtimedwait:
		return 3;
	case SYS_epoll_pwait2:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_pause:
		return 1;
	default:
		return 0;
	}
}

// A filter may end the process for a call that ours makes.
static bool is_filtered(pid_t pid, pid_t tid)
{
	char name[32], *status = NULL;
	snprintf(name, sizeof(name), "task/%d/status", (int)tid);
	if (proc_slurp(pid, name, &status, NULL))
		return true;
	bool filtered = proc_field(status, "\nSeccomp:", 10);
	free(status);
	return filtered;
}

// Not `but`, which ran when it was to be stopped.
static pid_t best_thread(pid_t pid, pid_t but)
{
	char path[64];
	int best = 0;
	pid_t found = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
		int fit = tid > 0 && tid != but ? fitness(pid, tid) : 0;
		if (fit > best && !is_filtered(pid, tid)) {
			best = fit;
			found = tid;
		}
	}
	if (d)
		closedir(d);
	return found;
}

// Does a signal wait that it would handle? Such a one waits for all threads if none of them takes it.
static bool signal_waits(const struct remote *r)
{
	char name[32], *status = NULL;
	snprintf(name, sizeof(name), "task/%d/status", (int)r->tid);
	if (proc_slurp(r->pid, name, &status, NULL))
		return false;
	uint64_t waits = proc_field(status, "\nSigPnd:", 16) | proc_field(status, "\nShdPnd:", 16),
		 caught = proc_field(status, "\nSigCgt:", 16);
	free(status);
	return waits & caught & ~r->sigmask;
}

// Waits for the thread's next stop, however long the machine takes: to leave a thread in the middle would
// crash its program. 0, or -errno: it has ended.
static int next_stop(struct remote *r, int *status)
{
	for (;;) {
		pid_t got = waitpid(r->tid, status, __WALL);
		if (got == r->tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -errno;
	}
}

static int get(struct remote *r, struct user_regs_struct *u)
{
	return ptrace(PTRACE_GETREGS, r->tid, NULL, u) ? -errno : 0;
}

static int set(struct remote *r, struct user_regs_struct *u)
{
	return ptrace(PTRACE_SETREGS, r->tid, NULL, u) ? -errno : 0;
}

static int keep(struct remote *r)
{
	struct saved *s = calloc(1, sizeof(*s));
	uint64_t all = ~0ULL;
	if (!s)
		return -ENOMEM;
	r->state = s;
	struct iovec fp = {s->fp, sizeof(s->fp)};
	if (get(r, &s->regs) || ptrace(PTRACE_GETREGSET, r->tid, (void *)NT_X86_XSTATE, &fp) ||
	    ptrace(PTRACE_GETSIGMASK, r->tid, (void *)8, &r->sigmask) ||
	    ptrace(PTRACE_SETSIGMASK, r->tid, (void *)8, &all)) {
		int e = errno;
		free(s);
		r->state = NULL;
		return -e;
	}
	s->fp_bytes = fp.iov_len;
	return 0;
}

// Does it stand behind a system call instruction, in a call that was asleep?
static bool stands_well(struct remote *r)
{
	const struct saved *s = r->state;
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, r->tid, (void *)(s->regs.rip - 2), NULL);
	return !errno && (word & 0xffff) == 0x050f && (long)s->regs.orig_rax >= 0;
}

static int step(struct remote *r)
{
	int status;
	if (ptrace(PTRACE_SYSCALL, r->tid, NULL, NULL))
		return -errno;
	int e = next_stop(r, &status);
	if (e)
		return e;
	if (WSTOPSIG(status) == SIGSEGV || WSTOPSIG(status) == SIGBUS || WSTOPSIG(status) == SIGILL ||
	    WSTOPSIG(status) == SIGABRT)
		return -EFAULT;
	return WSTOPSIG(status) == (SIGTRAP | 0x80) ? 1 : 0;
}

// One system call of ours at the gate.
static int plain_call(struct remote *r, long nr, const uint64_t a[6], uint64_t *result)
{
	const struct saved *s = r->state;
	struct user_regs_struct u = s->regs;
	u.rip = r->gate;
	u.rax = (uint64_t)nr;
	u.orig_rax = (uint64_t)-1;
	u.rdi = a[0], u.rsi = a[1], u.rdx = a[2], u.r10 = a[3], u.r8 = a[4], u.r9 = a[5];
	int e = set(r, &u);
	for (int entered = 0; !e && entered < 2;) { // its entry, and its exit
		int is = step(r);
		e = is < 0 ? is : 0;
		entered += is > 0;
	}
	if (e || (e = get(r, &u)))
		return e;
	*result = u.rax;
	return 0;
}

int remote_call(struct remote *r, uint64_t fn, uint64_t a, uint64_t b, uint64_t *result)
{
	const struct saved *s = r->state;
	uint64_t gate = r->gate, sp = r->stack + STACK_BYTES - 4096 - 8;
	struct user_regs_struct u = s->regs;
	u.rip = fn;
	u.rsp = sp;
	u.rbp = 0;
	u.rdi = a;
	u.rsi = b;
	u.rax = 0;
	u.orig_rax = (uint64_t)-1;
	u.eflags &= ~0x400ULL; // the direction flag
	if (ptrace(PTRACE_POKEDATA, r->tid, (void *)sp, (void *)gate))
		return -errno;
	int e = set(r, &u);
	while (!e) {
		int is = step(r);
		if (is < 0)
			return is;
		if (!is)
			continue;
		if ((e = get(r, &u)))
			return e;
		if (u.rip != gate + 2 || u.rsp != sp + 8)
			continue; // a call that the function makes
		*result = u.orig_rax;
		u.orig_rax = (uint64_t)-1; // the kernel passes it over
		if ((e = set(r, &u)))
			return e;
		is = step(r); // its exit
		return is < 0 ? is : 0;
	}
	return e;
}

int remote_call_text(struct remote *r, uint64_t fn, const char *text, uint64_t b, uint64_t *result)
{
	uint64_t at = r->stack + STACK_BYTES - 4096 + 64;
	size_t n = strlen(text) + 1;
	struct iovec from = {(void *)text, n}, to = {(void *)at, n};
	if (n > 2048 || living_write(r->pid, &from, 1, &to, 1) != (ssize_t)n)
		return -EFAULT;
	return remote_call(r, fn, at, b, result);
}

static int map(struct remote *r, uint64_t bytes, uint64_t *at)
{
	const uint64_t a[6] = {0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1,
			       0};
	int e = plain_call(r, SYS_mmap, a, at);
	return e ? e : *at > (uint64_t)-4096 ? (int)(int64_t)*at : 0;
}

static int unmap(struct remote *r, uint64_t at, uint64_t bytes)
{
	const uint64_t a[6] = {at, bytes};
	uint64_t ignored;
	return plain_call(r, SYS_munmap, a, &ignored);
}

int remote_call_block(struct remote *r, uint64_t fn, void *block, size_t bytes, uint64_t *result)
{
	uint64_t at;
	int e = map(r, bytes, &at);
	if (e)
		return e;
	struct iovec own = {block, bytes}, there = {(void *)at, bytes};
	if (living_write(r->pid, &own, 1, &there, 1) != (ssize_t)bytes)
		e = -EFAULT;
	if (!e && (e = remote_call(r, fn, at, 0, result)))
		return e; // nothing more can be called
	if (!e && living_read(r->pid, &own, 1, &there, 1) != (ssize_t)bytes)
		e = -EFAULT;
	int left = unmap(r, at, bytes);
	return e ? e : left;
}

static int make_stack(struct remote *r)
{
	uint64_t at;
	int e = map(r, STACK_BYTES, &at);
	if (!e)
		r->stack = at;
	return e;
}

// mincore asks about the stack's first page, which nobody has used, and answers in its last one. If in doubt,
// yes.
bool remote_allocates_at_once(struct remote *r)
{
	const uint64_t at = r->stack + STACK_BYTES - 4096, a[6] = {r->stack, 4096, at};
	unsigned char resident = 1;
	uint64_t result;
	struct iovec own = {&resident, 1}, there = {(void *)at, 1};
	return plain_call(r, SYS_mincore, a, &result) || result ||
	       living_read(r->pid, &own, 1, &there, 1) != 1 || (resident & 1);
}

// What a thread must do next to sleep as before; if it is to handle a signal, the kernel goes on from there.
static void resumed(const struct saved *s, bool signalled, struct user_regs_struct *u)
{
	*u = s->regs;
	int64_t was = (int64_t)s->regs.rax;
	bool interrupted = was == -EINTR || (was <= -RESTART_FIRST && was >= -RESTART_BLOCK);
	if (signalled || (int64_t)s->regs.orig_rax < 0) // or it stands in the program's own code
		return;
	if (interrupted) {
		bool endless = s->regs.orig_rax == SYS_poll && (int)s->regs.rdx < 0;
		u->rax = was == -RESTART_BLOCK && !endless ? SYS_restart_syscall : s->regs.orig_rax;
		u->rip -= 2;
	}
	u->orig_rax = (uint64_t)-1;
}

void remote_release(struct remote *r)
{
	struct saved *s = r->state;
	if (s && r->stack)
		unmap(r, r->stack, STACK_BYTES);
	if (s) {
		struct user_regs_struct u;
		struct iovec fp = {s->fp, s->fp_bytes};
		resumed(s, signal_waits(r), &u);
		ptrace(PTRACE_SETREGSET, r->tid, (void *)NT_X86_XSTATE, &fp);
		set(r, &u);
		ptrace(PTRACE_SETSIGMASK, r->tid, (void *)8, &r->sigmask);
	}
	if (r->tid)
		ptrace(PTRACE_DETACH, r->tid, NULL, NULL);
	free(s);
	r->state = NULL;
	r->tid = 0;
}

// Stops r->tid. 0, -EAGAIN: it does not stand well, and runs on; else -errno.
static int stop(struct remote *r)
{
	int status, e;
	if (ptrace(PTRACE_SEIZE, r->tid, NULL, (void *)(PTRACE_O_TRACESYSGOOD)))
		return -errno;
	e = ptrace(PTRACE_INTERRUPT, r->tid, NULL, NULL) ? -errno : next_stop(r, &status);
	if (!e && !(status >> 16)) { // by a signal on its way, which it has to get
		ptrace(PTRACE_DETACH, r->tid, NULL, (void *)(intptr_t)WSTOPSIG(status));
		return -EAGAIN;
	}
	if (e || (e = keep(r))) {
		ptrace(PTRACE_DETACH, r->tid, NULL, NULL);
		return e == -ESRCH || e == -ECHILD ? -EAGAIN : e;
	}
	if (!stands_well(r)) {
		remote_release(r);
		return -EAGAIN;
	}
	const struct saved *s = r->state;
	r->gate = s->regs.rip - 2;
	if ((e = make_stack(r))) {
		remote_release(r);
		return e;
	}
	return 0;
}

int remote_stop(struct remote *r, pid_t pid, uint64_t patience_ns)
{
	struct timespec nap = {0, 2000000};
	uint64_t until = clock_mono_ns() + patience_ns;
	pid_t ran = 0;
	*r = (struct remote){.pid = pid};
	do {
		r->tid = best_thread(pid, ran);
		ran = r->tid;
		int e = r->tid ? stop(r) : kill(pid, 0) && errno == ESRCH ? -ESRCH : -EAGAIN;
		if (!e)
			return 0;
		r->tid = 0;
		if (e == -EPERM)
			return fail(r, e, "the kernel does not allow it to be traced");
		if (e == -ESRCH && kill(pid, 0))
			return fail(r, e, "it has ended");
		nanosleep(&nap, NULL);
	} while (clock_mono_ns() < until);
	return fail(r, -EAGAIN,
		    "none of its threads sleeps in a wait for events, where a call can be made safely");
}
#else
int remote_stop(struct remote *r, pid_t pid, uint64_t patience_ns)
{
	(void)patience_ns;
	*r = (struct remote){.pid = pid};
	snprintf(r->why, sizeof(r->why), "attaching is made for x86_64 alone");
	return -ENOTSUP;
}

int remote_call(struct remote *r, uint64_t fn, uint64_t a, uint64_t b, uint64_t *result)
{
	(void)r, (void)fn, (void)a, (void)b, (void)result;
	return -ENOTSUP;
}

int remote_call_text(struct remote *r, uint64_t fn, const char *text, uint64_t b, uint64_t *result)
{
	(void)r, (void)fn, (void)text, (void)b, (void)result;
	return -ENOTSUP;
}

bool remote_allocates_at_once(struct remote *r)
{
	(void)r;
	return true;
}

int remote_call_block(struct remote *r, uint64_t fn, void *block, size_t bytes, uint64_t *result)
{
	(void)r, (void)fn, (void)block, (void)bytes, (void)result;
	return -ENOTSUP;
}

void remote_release(struct remote *r)
{
	(void)r;
}
#endif

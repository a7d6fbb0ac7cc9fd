// SPDX-License-Identifier: MIT
//
// Of a thread that sleeps in a system call the kernel shows the stack pointer and the call's
// arguments. A register that called functions preserve is known all the same where unwinding shows
// that a callee has saved it (then it lies on the stack, which is searched), or that no frame of the
// thread has used it. Else only a stop tells.
#include "find/registers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <elf.h>

#include "find/harmless.h"
#include "search/stacks/thread_stack.h"
#include "unwind/unwind.h"

static size_t peek(void *ctx, uint64_t addr, void *to, size_t bytes)
{
	return image_peek(ctx, addr, to, bytes);
}

static bool in_c_library(const struct contexts *c, uint64_t pc)
{
	const struct object *o = objects_at(&c->objects, pc);
	const char *base = o ? strrchr(o->path, '/') : NULL;
	return base && (!strncmp(base, "/libc.", 6) || !strncmp(base, "/libc-", 6) ||
			!strncmp(base, "/libpthread", 11));
}

// The function of this frame has the register for its own use: what can it put there? first: it is its
// thread's first.
static bool keeps_harmless(const struct contexts *c, uint64_t pc, int reg, bool first)
{
	enum { CODE_MOST = 1 << 16 };
	static const unsigned numbers[CTP_REGS] = {[CTP_REG_FP] = 5,  [CTP_REG_S0] = 3,  [CTP_REG_S1] = 12,
						   [CTP_REG_S2] = 13, [CTP_REG_S3] = 14, [CTP_REG_S4] = 15};
	struct span s;
	if (!objects_function(&c->objects, pc - 1, &s) || s.hi - s.lo > CODE_MOST)
		return false;
	unsigned char *code = malloc(s.hi - s.lo + 1);
	bool is = code && image_read(c->image, s.lo, code, s.hi - s.lo) &&
		  harmless_register(code, s.hi - s.lo, numbers[reg], first);
	free(code);
	return is;
}

// Is some register still a frame's of the program's own?
static bool keeps_unknown(const struct contexts *c, struct unwind *u, const struct image_thread *t)
{
	struct unwind_frame f[UNWIND_FRAMES];
	struct ctp_state s = {.lo = 0, .hi = 0};
	memcpy(s.regs, t->regs, sizeof(s.regs));
	size_t n = unwind_frames(u, &s, f, UNWIND_FRAMES), k = 0;
	while (k < n && in_c_library(c, f[k].pc))
		k++;
	if (k == n)
		return !n || !f[n - 1].outermost; // the C library alone, as far as it is known
	for (int r = CTP_REG_FP; r < CTP_REGS; r++)
		for (size_t j = k + 1; !f[k].saved[r] && j < n; j++) {
			if (!f[j].saved[r])
				continue;
			if (!keeps_harmless(c, f[j - 1].pc, r, j == n || in_c_library(c, f[j].pc)))
				return true;
			break;
		}
	return !f[n - 1].outermost && n < UNWIND_FRAMES && !in_c_library(c, f[n - 1].pc);
}

const char *registers_unknown(const struct contexts *c)
{
	const struct unwind_reader reader = {c->image, peek};
	struct unwind *u;
	const char *why = NULL;
	if (unwind_new_of(&u, &reader, c->image->maps, c->image->nmaps))
		return "there is no memory to unwind its threads";
	for (size_t i = 0; !why && i < c->image->nthreads; i++) {
		const struct image_thread *t = &c->image->threads[i];
		if (t->whole)
			continue;
		if (!t->placed)
			why = "a thread runs, and its registers are not known";
		else if (keeps_unknown(c, u, t))
			why = "a thread that sleeps may keep a pointer in a register, which only a stop shows";
	}
	unwind_free(u);
	return why;
}

// ------------------------------------------------------------------------ stops

static bool take_one(struct image_thread *t)
{
	struct user_regs_struct regs;
	struct iovec v = {&regs, sizeof(regs)};
	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &v) || v.iov_len != sizeof(regs))
		return false;
	image_take_regs(t, &regs);
	t->on_cpu = false;
	return true;
}

// Calls that the kernel begins anew once the stop is over, so that the program does not see it.
static bool goes_on(long nr)
{
	static const long all[] = {SYS_futex, SYS_nanosleep,      SYS_clock_nanosleep, SYS_pause,
				   SYS_poll,  SYS_select,         SYS_wait4,           SYS_waitid,
				   SYS_read,  SYS_restart_syscall};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (nr == all[i])
			return true;
	return false;
}

static bool signal_waits(int tid)
{
	char path[40], line[128];
	unsigned long long mine = 0, shared = 0, blocked = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "SigPnd: %llx", &mine);
		sscanf(line, "ShdPnd: %llx", &shared);
		sscanf(line, "SigBlk: %llx", &blocked);
	}
	if (f)
		fclose(f);
	return !f || ((mine | shared) & ~blocked);
}

// The kernel ends epoll_wait by a stop. One without a timeout, while no signal waits, is begun anew: to the
// thread it is as if it had not been interrupted.
static void let_go(const struct registers_held *h)
{
	enum { CALL_BYTES = 2 }; // of the instruction
	struct user_regs_struct regs;
	struct iovec v = {&regs, sizeof(regs)};
	if (h->waits && !ptrace(PTRACE_GETREGSET, h->tid, NT_PRSTATUS, &v) && v.iov_len == sizeof(regs) &&
	    (long)regs.orig_rax == SYS_epoll_wait && (long)regs.rax == -EINTR && !signal_waits(h->tid)) {
		regs.rax = regs.orig_rax;
		regs.rip -= CALL_BYTES;
		ptrace(PTRACE_SETREGSET, h->tid, NT_PRSTATUS, &v);
	}
	ptrace(PTRACE_DETACH, h->tid, 0, 0);
}

int registers_take(struct image *im, enum registers_which which, struct registers_hold *held)
{
	int e = 0;
	*held = (struct registers_hold){.v = calloc(im->nthreads + 1, sizeof(*held->v))};
	if (!held->v)
		return -ENOMEM;
	for (size_t i = 0; !e && i < im->nthreads; i++) {
		struct image_thread *t = &im->threads[i];
		int status;
		if (which != REGISTERS_ALL && !t->on_cpu && !goes_on(t->nr))
			continue;
		if (ptrace(PTRACE_SEIZE, t->tid, 0, 0)) {
			e = errno == ESRCH ? 0 : -errno;
			continue;
		}
		held->v[held->n++] = (struct registers_held){.tid = t->tid};
		if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) || waitpid(t->tid, &status, __WALL) != t->tid ||
		    !take_one(t))
			e = -ESRCH;
		else
			held->v[held->n - 1].waits = t->nr == SYS_epoll_wait && (int)t->args[3] == -1;
	}
	if (e || which == REGISTERS_GLANCE)
		registers_release(held);
	return e;
}

void registers_release(struct registers_hold *held)
{
	for (size_t i = 0; i < held->n; i++)
		let_go(&held->v[i]);
	free(held->v);
	*held = (struct registers_hold){0};
}

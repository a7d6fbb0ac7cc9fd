// SPDX-License-Identifier: MIT
//
// Of a thread that sleeps in a system call the kernel shows the stack pointer and the call's
// arguments. A register that called functions preserve is known all the same where unwinding shows
// that a callee has saved it (then it lies on the stack, which is searched), or that no frame of the
// thread has used it, or that the one that did puts no pointer there, or overwrites it before it uses it
// again. Else only a stop tells.
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
#include "find/height.h"
#include "find/liveness.h"
#include "find/pads.h"
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

// ------------------------------------------------------------------------ code

enum { CODE_MOST = 1 << 16, TABLE_MOST = 1 << 14, PARTS_MOST = 16 };

struct part { // of the functions of one frame
	struct liveness_code code;
	uint8_t *bytes;
	uint64_t pads[PADS_MOST];
};

struct parts {
	const struct contexts *c;
	struct unwind *u;
	struct part *v[PARTS_MOST];
	size_t n;
};

static bool read_pads(const struct contexts *c, struct part *p, uint64_t table)
{
	uint8_t bytes[TABLE_MOST];
	size_t n = table ? image_peek(c->image, table, bytes, sizeof(bytes)) : 0;
	p->code.pads = p->pads;
	return !table || pads_read(bytes, n, p->code.lo, p->pads, &p->code.npads);
}

static void free_part(struct part *p)
{
	if (p)
		free(p->bytes);
	free(p);
}

static struct part *read_part(const struct parts *all, uint64_t addr)
{
	struct unwind_function f;
	if (!unwind_function(all->u, addr, &f) || addr < f.lo || addr >= f.hi || f.hi - f.lo > CODE_MOST)
		return NULL;
	struct part *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->bytes = malloc(f.hi - f.lo);
	p->code = (struct liveness_code){.lo = f.lo, .bytes = p->bytes, .n = f.hi - f.lo};
	if (p->bytes && image_read(all->c->image, f.lo, p->bytes, p->code.n) &&
	    read_pads(all->c, p, f.exceptions))
		return p;
	free_part(p);
	return NULL;
}

static const struct liveness_code *part_at(void *ctx, uint64_t addr)
{
	struct parts *all = ctx;
	for (size_t i = 0; i < all->n; i++)
		if (addr - all->v[i]->code.lo < all->v[i]->code.n)
			return &all->v[i]->code;
	struct part *p = all->n < PARTS_MOST ? read_part(all, addr) : NULL;
	if (p)
		all->v[all->n++] = p;
	return p ? &p->code : NULL;
}

static bool is_dead(const struct contexts *c, struct unwind *u, uint64_t pc, unsigned number)
{
	struct parts all = {.c = c, .u = u};
	const struct liveness_reader reader = {&all, part_at};
	bool is = liveness_is_dead(&reader, pc, number);
	while (all.n)
		free_part(all.v[--all.n]);
	return is;
}

// The code of the function that this return address lies in, to be freed; NULL: not known.
static uint8_t *code_of(const struct contexts *c, uint64_t pc, struct span *s)
{
	if (!objects_function(&c->objects, pc - 1, s) || s->hi - s->lo > CODE_MOST)
		return NULL;
	uint8_t *code = malloc(s->hi - s->lo + 1);
	if (code && image_read(c->image, s->lo, code, s->hi - s->lo))
		return code;
	free(code);
	return NULL;
}

// The function of this frame has the register for its own use: what can it put there? first: it is its
// thread's first.
static bool puts_harmless(const struct contexts *c, uint64_t pc, unsigned number, bool first)
{
	struct span s;
	uint8_t *code = code_of(c, pc, &s);
	bool is = code && harmless_register(code, s.hi - s.lo, number, first);
	free(code);
	return is;
}

// Can the program find a coroutine by what this frame keeps in the register?
static bool keeps_harmless(const struct contexts *c, struct unwind *u, uint64_t pc, int reg, bool first)
{
	static const unsigned numbers[CTP_REGS] = {[CTP_REG_FP] = 5,  [CTP_REG_S0] = 3,  [CTP_REG_S1] = 12,
						   [CTP_REG_S2] = 13, [CTP_REG_S3] = 14, [CTP_REG_S4] = 15};
	return puts_harmless(c, pc, numbers[reg], first) || is_dead(c, u, pc, numbers[reg]);
}

// --------------------------------------------------------------------- threads

// How many frames there are without those that began the thread, before any code of the program's ran.
static size_t without_first(const struct contexts *c, const struct unwind_frame *f, size_t n)
{
	while (n && (f[n - 1].outermost || in_c_library(c, f[n - 1].pc)))
		n--;
	return n;
}

// Code without optimization reaches its frame by rbp, which is not known: then the walk ends there. But where
// that frame ends, two words above what rbp holds, its code says, too.
static size_t frames_of(const struct contexts *c, struct unwind *u, const struct image_thread *t,
			struct unwind_frame *f)
{
	struct span code;
	struct ctp_state s = {.lo = 0, .hi = 0};
	memcpy(s.regs, t->regs, sizeof(s.regs));
	size_t n = unwind_frames(u, &s, f, UNWIND_FRAMES);
	if (!n || n == UNWIND_FRAMES || f[n - 1].outermost || f[n - 1].saved[CTP_REG_FP])
		return n;
	struct unwind_frame last = f[n - 1];
	uint8_t *bytes = code_of(c, last.pc, &code);
	uint32_t height = bytes ? height_at(bytes, code.hi - code.lo, last.pc - code.lo) : 0;
	free(bytes);
	s.regs[CTP_REG_FP] = last.sp + height - 16;
	size_t more = height ? unwind_frames(u, &s, f, UNWIND_FRAMES) : 0;
	if (more > n && f[n].sp == last.sp + height)
		return more;
	f[n - 1] = last;
	return n;
}

// Is some register still a frame's of the program's own?
static bool keeps_unknown(const struct contexts *c, struct unwind *u, const struct image_thread *t)
{
	struct unwind_frame f[UNWIND_FRAMES];
	size_t n = frames_of(c, u, t, f), k = 0;
	while (k < n && in_c_library(c, f[k].pc))
		k++;
	if (k == n)
		return !n || !f[n - 1].outermost; // the C library alone, as far as it is known
	size_t own = without_first(c, f, n);
	for (int r = CTP_REG_FP; r < CTP_REGS; r++)
		for (size_t j = k + 1; !f[k].saved[r] && j <= own && j < n; j++) {
			if (!f[j].saved[r])
				continue;
			if (!keeps_harmless(c, u, f[j - 1].pc, r, j == n || in_c_library(c, f[j].pc)))
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

// The kernel ends such a wait by a stop.
static bool is_ended_by_stop(long nr)
{
	return nr == SYS_epoll_wait || nr == SYS_epoll_pwait || nr == SYS_rt_sigtimedwait;
}

void registers_begin_anew(int tid, bool just_begun)
{
	enum { CALL_BYTES = 2 }; // of the instruction
	struct user_regs_struct regs;
	struct iovec v = {&regs, sizeof(regs)};
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) || v.iov_len != sizeof(regs) ||
	    !is_ended_by_stop((long)regs.orig_rax) || (long)regs.rax != -EINTR || signal_waits(tid))
		return;
	bool endless = regs.orig_rax == SYS_rt_sigtimedwait ? !regs.rdx : (int)regs.r10 < 0;
	if (endless || just_begun) {
		regs.rax = regs.orig_rax;
		regs.rip -= CALL_BYTES;
		ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &v);
	}
}

static void let_go(const struct registers_held *h)
{
	if (!h->signal)
		registers_begin_anew(h->tid, h->came_since);
	ptrace(PTRACE_DETACH, h->tid, 0, (void *)(intptr_t)h->signal);
}

// Waits for its stop. 0, or the signal that was on its way to it, which it has to get; -1: it has gone.
static int stopped_by(int tid)
{
	int status;
	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return -1;
	return status >> 16 ? 0 : WSTOPSIG(status);
}

int registers_take(struct image *im, enum registers_which which, struct registers_hold *held)
{
	int e = 0;
	*held = (struct registers_hold){.v = calloc(im->nthreads + 1, sizeof(*held->v))};
	if (!held->v)
		return -ENOMEM;
	for (size_t i = 0; !e && i < im->nthreads; i++) {
		struct image_thread *t = &im->threads[i];
		if (which != REGISTERS_ALL && !t->on_cpu && !goes_on(t->nr))
			continue;
		if (ptrace(PTRACE_SEIZE, t->tid, 0, 0)) {
			e = errno == ESRCH ? 0 : -errno;
			continue;
		}
		struct registers_held *h = &held->v[held->n++];
		*h = (struct registers_held){.tid = t->tid,
					     .came_since = t->on_cpu || !is_ended_by_stop(t->nr)};
		int signal = ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) ? -1 : stopped_by(t->tid);
		h->signal = signal > 0 ? signal : 0;
		if (signal < 0 || !take_one(t))
			e = -ESRCH;
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

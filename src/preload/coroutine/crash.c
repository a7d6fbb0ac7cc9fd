// SPDX-License-Identifier: MIT
//
// How the process dies by a signal that dumps core. Where the program handles none, our
// handler notes which coroutine ran and where, lets the engine make its final inspection,
// restores the default action and returns, so that the signal is raised again: the program
// dies by the same signal, at the same instruction, with the same core as without us. The
// program never sees our handler: a query returns SIG_DFL; a handler of the program's replaces
// ours, which is installed again when the program goes back to SIG_DFL. Flags and mask that
// the program asked for are kept by the kernel, in our handler's entry. Under a debugger, and
// beside a sanitizer, which handle crashes themselves, nothing is installed. In forked
// children the handler only lets the process die.
#include "preload/coroutine/crash.h"

#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <time.h>

#include "context.h"
#include "preload/coroutine/coroutine.h"
#include "cpu.h"
#include "preload/guest/exit.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/real.h"
#include "preload/coroutine/stacks.h"
#include "preload/coroutine/thread.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { NSIGNALS = sizeof(signals) / sizeof(signals[0]), KERNEL_MASK_BYTES = 8, DESK_BYTES = 32 << 10 };
enum { NOTE_EMPTY = 0, NOTE_READY = 1, NOTE_FILLING = 2 };

static bool wanted;          // handlers of ours are in place where the program has none
static bool asked[NSIGNALS]; // the program has set it: what it said beside SIG_DFL is in ours

// Where the note is made: the stack that the signal found may be used up, and a program's
// alternate one is small. Taken by whoever takes the note.
static struct thread_ctx desk;
static unsigned char desk_stack[DESK_BYTES] __attribute__((aligned(64)));

static int index_of(int sig)
{
	for (int i = 0; i < NSIGNALS; i++)
		if (signals[i] == sig)
			return i;
	return -1;
}

struct ctp_crash *crash_note(void)
{
	struct tracer *t = ctp_tracer;
	return wanted && t->attached && !t->v1 ? &t->region.ext->crash : NULL;
}

// ----------------------------------------------------------------- the note

struct end {
	int sig;
	const siginfo_t *info;
	const ucontext_t *u;
	struct thread_ctx *g; // NULL: a thread without a context
};

// An address above all frames of the stack that `sp` is on.
static uint64_t top_of(const struct thread_ctx *g, uint64_t sp)
{
	const struct ctp_state *s = g ? g->current : NULL, *there = stack_index_stack(sp);
	if (s && s->entity == CTP_COROUTINE && sp < s->hi && s->hi - sp < STACKS_FAR)
		return s->hi & ~15ULL;
	if (there)
		return there->hi & ~15ULL;
	uint64_t top = thread_top();
	return sp < top && top - sp < STACKS_FAR ? top : sp + COROUTINE_NATIVE_REACH; // a signal's
}

static uint32_t stack_at(const struct end *e)
{
	struct dl_find_object o;
	struct frame f = {e->u ? context_pc(e->u) + 1 : 0, context_sp(e->u),
			  0}; // as a return address: see stacks.h
	uint64_t regs[CTP_REGS];
	context_regs(e->u, regs);
	f.fp = regs[CTP_REG_FP];
	if (_dl_find_object((void *)context_pc(e->u), &o)) { // a call to nowhere: the caller is what there is
		f.pc = context_link(e->u);
		if (!f.pc && !stacks_peek(f.sp, &f.pc))
			return 0;
		f.sp += context_link(e->u) ? 0 : 8;
	}
	return stacks_interrupted(&f, top_of(e->g, f.sp), &crash_note()->steps);
}

static uint64_t write_down(void *arg)
{
	const struct end *e = arg;
	struct ctp_crash *c = crash_note();
	bool fault = e->info->si_code > 0;
	c->signal = e->sig;
	c->code = e->info->si_code;
	c->tid = (uint32_t)cpu_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	c->addr = fault ? (uint64_t)e->info->si_addr : 0;
	c->time = guest_now();
	c->time_ns = guest_mono_ns();
	context_regs(e->u, c->regs);
	c->who = e->g ? guest_who(e->g) : 0;
	c->thread = e->g ? e->g->slot : UINT32_MAX;
	c->stack = stack_at(e);
	ctp_store32(&c->ready, NOTE_READY);
	if (!ctp_tracer->exiting)
		exit_inspect(e->g);
	return 0;
}

// Once per process: a second thread that dies meanwhile gives the first the time it needs.
static void note(const struct end *e)
{
	struct ctp_crash *c = crash_note();
	struct timespec nap = {1, 0};
	if (!c || ctp_tracer->pid != (uint32_t)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0))
		return;
	if (ctp_cas32(&c->ready, NOTE_EMPTY, NOTE_FILLING)) {
		desk.stack_top = (uint64_t)desk_stack + DESK_BYTES - 64;
		cpu_on_private(&desk, write_down, (void *)e);
	} else if (ctp_load32(&c->tid) != (uint32_t)cpu_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0)) {
		cpu_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
}

// Does what raised it happen again when the handler returns? Not what was sent, nor what
// the kernel says of another place than this instruction.
static bool happens_again(const struct end *e)
{
	int code = e->info->si_code;
	return code > 0 && code != SI_KERNEL && e->sig != SIGABRT &&
	       !(e->sig == SIGBUS && code == BUS_MCEERR_AO);
}

static void die(const struct end *e)
{
	static const uint64_t kernel_default[8]; // struct sigaction as the kernel has it
	long pid = cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), tid = cpu_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	cpu_syscall(SYS_rt_sigaction, e->sig, (long)kernel_default, 0, KERNEL_MASK_BYTES, 0, 0);
	// It is blocked until the handler has returned: then it finds all as it was.
	if (!happens_again(e) && cpu_syscall(SYS_rt_tgsigqueueinfo, pid, tid, e->sig, (long)e->info, 0, 0))
		cpu_syscall(SYS_tgkill, pid, tid, e->sig, 0, 0, 0);
}

static void crashed(int sig, siginfo_t *info, void *context)
{
	static const uint64_t all = ~0ULL;
	struct end e = {sig, info, context, cpu_self()};
	cpu_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, 0, KERNEL_MASK_BYTES, 0, 0);
	if (e.g && !e.g->thread)
		e.g = NULL;
	note(&e);
	die(&e);
}

// ------------------------------------------------------- what the program sees

enum { ODD = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER };

// Ours, for a program that wants (or has) the default: `as` is how it asked for that.
static bool stand_in(int sig, const struct sigaction *as, struct sigaction *ours)
{
	bool is_default = as->sa_handler == SIG_DFL || as->sa_sigaction == crashed;
	if (!crash_note() || index_of(sig) < 0 || !is_default ||
	    (as->sa_sigaction != crashed && (as->sa_flags & ODD)))
		return false;
	*ours = *as;
	ours->sa_sigaction = crashed;
	ours->sa_flags |= SA_SIGINFO | SA_ONSTACK;
	return true;
}

// For the engine, which sees only that there is a handler: the program's own may resume a coroutine.
static void whose(int sig, bool ours)
{
	struct ctp_crash *c = crash_note();
	uint64_t bit = 1ULL << (sig - 1);
	if (!c || index_of(sig) < 0)
		return;
	if (ours)
		ctp_order_or64(&ctp_tracer->region.ext->crash_ours, bit);
	else
		ctp_order_and64(&ctp_tracer->region.ext->crash_ours, ~bit);
}

// `set`: by the program, in its time.
static void hide(struct sigaction *old, bool set)
{
	if (old->sa_sigaction != crashed)
		return;
	if (!set)
		*old = (struct sigaction){0}; // as exec left it
	old->sa_handler = SIG_DFL;
	old->sa_flags &= ~(SA_SIGINFO | SA_ONSTACK);
}

static bool was_set(int sig, bool now)
{
	int i = index_of(sig);
	bool was = i >= 0 && asked[i];
	if (i >= 0 && now)
		asked[i] = true;
	return was;
}

void crash_notice(int flags)
{
	if (flags & SA_ONSTACK)
		crash_stack_end();
}

int crash_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction ours;
	if (act && act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN && act->sa_sigaction != crashed)
		crash_notice(act->sa_flags);
	bool stands_in = act && stand_in(sig, act, &ours);
	if (stands_in)
		act = &ours;
	else if (act)
		whose(sig, false);
	bool was = was_set(sig, act);
	int r = real_sigaction(sig, act, old);
	if (r == 0 && stands_in)
		whose(sig, true);
	if (r == 0 && old)
		hide(old, was);
	return r;
}

sighandler_t crash_signal(int sig, sighandler_t handler, sighandler_t (*real)(int, sighandler_t))
{
	struct sigaction is, ours;
	whose(sig, false);
	sighandler_t old = real(sig, handler);
	was_set(sig, true);
	if (handler == SIG_DFL && old != SIG_ERR && real_sigaction(sig, NULL, &is) == 0 &&
	    stand_in(sig, &is, &ours))
		whose(sig, real_sigaction(sig, &ours, NULL) == 0);
	return old == (sighandler_t)(void *)crashed ? SIG_DFL : old;
}

// -------------------------------------------------------------------- attach

// Is a debugger there that was there before us? It wants to see each signal once.
static bool is_debugged(void)
{
	static const char key[] = "\nTracerPid:\t";
	char text[1024];
	long fd = cpu_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long n = fd < 0 ? -1 : cpu_syscall(SYS_read, fd, (long)text, sizeof(text) - 1, 0, 0, 0);
	if (fd >= 0)
		cpu_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	text[n > 0 ? n : 0] = 0;
	const char *at = strstr(text, key);
	return at && at[sizeof(key) - 1] != '0';
}

void crash_init(void)
{
	struct sigaction is, ours;
	wanted = !ctp_tracer->no_free && !is_debugged();
	if (wanted)
		crash_stack_init();
	for (int sig = 1; wanted && sig < NSIG; sig++) {
		if (real_sigaction(sig, NULL, &is))
			continue;
		if (is.sa_sigaction != crashed && is.sa_handler != SIG_DFL && is.sa_handler != SIG_IGN)
			crash_notice(is.sa_flags); // of a constructor before ours
		else if (stand_in(sig, &is, &ours))
			whose(sig, real_sigaction(sig, &ours, NULL) == 0);
	}
}

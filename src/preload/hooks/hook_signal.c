// SPDX-License-Identifier: MIT
//
// TERM requests a program's end, HUP, INT and QUIT may do so, or ask for something else, such
// as a reload. A wakeup lost in an end is no finding, so it must be known that one was taken. Where the
// program installs a handler we install ours with the same flags and mask, and call theirs from it as the
// kernel would: with all three arguments, which the kernel passes with or without SA_SIGINFO. A query returns
// the program's handler. One word per signal holds all that the kernel does not keep for us, so a handler
// that runs while another thread changes it sees the old or the new one whole. Signals that are waited for
// (sigwait, signalfd) are noted as they arrive.
#include "preload/coroutine/crash.h"
#include "preload/hooks/hook.h"

typedef void (*action)(int, siginfo_t *, void *);

#define ASKED_INFO (1ULL << 63) // the program did ask for SA_SIGINFO
enum { ENDING = 4 };

static uint64_t theirs[ENDING]; // handler | ASKED_INFO
bool hook_signal_by_fd;

static int index_of(int sig)
{
	return sig == SIGTERM ? 0 : sig == SIGINT ? 1 : sig == SIGHUP ? 2 : sig == SIGQUIT ? 3 : -1;
}

bool hook_signal_ends(int sig)
{
	return index_of(sig) >= 0;
}

void hook_signal_noted(int sig)
{
	if (!hook_signal_ends(sig) || !ctp_tracer->attached || ctp_tracer->v1)
		return;
	struct ctp_ext *e = ctp_tracer->region.ext;
	uint64_t now = guest_now();
	if (sig != SIGHUP) // most reload by that: it counts as the last one alone
		ctp_cas64(sig == SIGTERM ? &e->signal_taken : &e->asked_first, 0,
			  now); // even in the middle of a hook
	if (sig != SIGTERM)
		ctp_store64(&e->asked_last, now);
	struct thread_ctx *g = hook_enter();
	if (!g)
		return;
	emit(g, ctp_w1(CTP_EV_SIGNAL, 0, guest_who(g)), 0, (uint64_t)sig);
	guest_leave(g);
}

static void taken(int sig, siginfo_t *info, void *context)
{
	hook_signal_noted(sig);
	uint64_t word = ctp_load64(&theirs[index_of(sig)]);
	((action)(word & ~ASKED_INFO))(sig, info, context);
}

// A function of the program's, neither SIG_DFL and its like nor ours.
static bool is_handler(uint64_t h)
{
	return h != (uint64_t)SIG_DFL && h != (uint64_t)SIG_IGN && h != (uint64_t)taken && !(h & ASKED_INFO);
}

static void show_theirs(struct sigaction *old, uint64_t word)
{
	if (old->sa_sigaction != taken)
		return;
	old->sa_sigaction = (action)(word & ~ASKED_INFO);
	if (!(word & ASKED_INFO))
		old->sa_flags &= ~SA_SIGINFO;
}

CTP_HOOK int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int i = index_of(sig);
	if (i < 0)
		return crash_sigaction(sig, act, old);
	uint64_t was = ctp_load64(&theirs[i]);
	struct sigaction ours;
	if (act && is_handler((uint64_t)act->sa_sigaction) && ctp_tracer->attached) {
		crash_notice(act->sa_flags);
		ours = *act;
		ours.sa_sigaction = taken;
		ours.sa_flags |= SA_SIGINFO;
		ctp_store64(&theirs[i],
			    (uint64_t)act->sa_sigaction | (act->sa_flags & SA_SIGINFO ? ASKED_INFO : 0));
		act = &ours;
	}
	int r = real_sigaction(sig, act, old);
	if (r == 0 && old)
		show_theirs(old, was);
	return r;
}

// `real`: signal, or what it is called where a program was compiled to another standard.
static sighandler_t set_handler(int sig, sighandler_t handler, sighandler_t (*real)(int, sighandler_t))
{
	int i = index_of(sig);
	if (i < 0)
		return crash_signal(sig, handler, real);
	uint64_t was = ctp_load64(&theirs[i]);
	if (is_handler((uint64_t)handler) && ctp_tracer->attached) {
		ctp_store64(&theirs[i], (uint64_t)handler);
		handler = (sighandler_t)(void *)taken;
	}
	sighandler_t r = real(sig, handler);
	return r == (sighandler_t)(void *)taken ? (sighandler_t)(was & ~ASKED_INFO) : r;
}

#define SIGNAL_HOOK(name) \
	CTP_HOOK sighandler_t name(int sig, sighandler_t handler) \
	{ \
		return set_handler(sig, handler, real_##name); \
	}

SIGNAL_HOOK(__sysv_signal)
SIGNAL_HOOK(bsd_signal)
SIGNAL_HOOK(signal)
SIGNAL_HOOK(ssignal)
SIGNAL_HOOK(sysv_signal)

// ------------------------------------------------------------- waited for

CTP_HOOK int sigwait(const sigset_t *set, int *sig)
{
	int r = real_sigwait(set, sig);
	if (r == 0)
		hook_signal_noted(*sig);
	return r;
}

CTP_HOOK int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	int r = real_sigwaitinfo(set, info);
	if (r > 0)
		hook_signal_noted(r);
	return r;
}

CTP_HOOK int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	int r = real_sigtimedwait(set, info, timeout);
	if (r > 0)
		hook_signal_noted(r);
	return r;
}

// SPDX-License-Identifier: MIT
//
// The sender of a signal decides whether it is passed on to the program: what the kernel sent to a
// terminal's whole group has reached the program already. The handler's notes are global, since a
// handler gets no other context.
#include "engine/target/signals.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "ctp/seq.h"

static const int caught[] = {SIGTERM,  SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,  SIGCONT,
			     SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGALRM,  SIGVTALRM,
			     SIGPROF,  SIGIO,   SIGPWR,  SIGXCPU, SIGURG,  SIGSTKFLT};
static const int ignored[] = {SIGPIPE, SIGXFSZ};
#define N_CAUGHT (sizeof(caught) / sizeof(*caught))
#define N_IGNORED (sizeof(ignored) / sizeof(*ignored))

static struct sigaction before_caught[N_CAUGHT], before_ignored[N_IGNORED];
static sigset_t before_mask;
static atomic_int sent[NSIG], from_kernel[NSIG], any, orders;
static _Atomic(pid_t) sender[NSIG];
static uint32_t *wakes;
static bool hurry;

static void note(int sig, siginfo_t *info, void *context)
{
	if (info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL) {
		sender[sig] = info->si_pid;
		sent[sig]++;
	} else {
		from_kernel[sig]++;
	}
	any = 1;
	if (sig != SIGCHLD) // which a hold of our own sends, too
		orders = 1;
	if (wakes)
		ctp_add32(wakes, 1);
}

void signals_wake(uint32_t *word)
{
	wakes = word;
}

void signals_init(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction act = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
	sigset_t all;
	sigfillset(&act.sa_mask);
	for (size_t i = 0; i < N_CAUGHT; i++)
		sigaction(caught[i], &act, &before_caught[i]);
	for (size_t i = 0; i < N_IGNORED; i++)
		sigaction(ignored[i], &ignore, &before_ignored[i]);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, &before_mask);
}

void signals_restore(void)
{
	for (size_t i = 0; i < N_CAUGHT; i++)
		sigaction(caught[i], &before_caught[i], NULL);
	for (size_t i = 0; i < N_IGNORED; i++)
		sigaction(ignored[i], &before_ignored[i], NULL);
	sigprocmask(SIG_SETMASK, &before_mask, NULL);
}

bool signals_pending(void)
{
	orders = 0;
	return atomic_exchange(&any, 0);
}

bool signals_noted(void)
{
	return orders;
}

bool signals_waiting(void)
{
	return sent[SIGTERM] != 0;
}

void signals_hurry(bool on)
{
	hurry = on;
}

bool signals_hurried(void)
{
	return hurry && signals_waiting();
}

bool signals_late(uint64_t deadline_ns)
{
	return signals_hurried() || clock_mono_ns() > deadline_ns;
}

struct signals_news signals_take(int sig, pid_t child)
{
	struct signals_news n = {.sent = atomic_exchange(&sent[sig], 0),
				 .kernel = atomic_exchange(&from_kernel[sig], 0)};
	if (n.sent && sender[sig] == child) // it told its whole group, itself too
		n.sent = 0;
	return n;
}

void signals_die(int sig)
{
	struct rlimit none = {0, 0};
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t one;
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	sigaction(sig, &act, NULL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
}

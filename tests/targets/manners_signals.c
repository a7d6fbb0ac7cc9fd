// SPDX-License-Identifier: MIT
//
// manners_signals.c - signals wherever they strike, hooks included.
//   t-signals NAME [N]: prints what it counted itself; N signals at least are taken.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static atomic_long taken, done;
static long wanted;
static pthread_t victim;
static int pipes[2], watched, ep;

// Signals the victim until it has taken its share; the next is sent when the last arrived.
static void *storm(void *arg)
{
	while (!done) {
		long before = taken;
		if (pthread_kill(victim, SIGUSR1))
			break;
		for (int n = 0; n < 50 && taken == before && !done; n++)
			sched_yield();
	}
	return arg;
}

static void catch(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};
	must(sigaction(sig, &sa, NULL));
}

static void alternate(void)
{
	stack_t s = {.ss_sp = must_map(128 << 10), .ss_size = 128 << 10};
	must(sigaltstack(&s, NULL));
}

static pthread_t begin(long n)
{
	pthread_t t;
	wanted = n;
	victim = pthread_self();
	must(pipe(pipes));
	watched = eventfd(0, EFD_NONBLOCK);
	ep = epoll_create1(0);
	must(watched);
	must(ep);
	must(pthread_create(&t, NULL, storm, NULL));
	return t;
}

static void end(pthread_t t)
{
	done = 1;
	must(pthread_join(t, NULL));
}

// Calls that have hooks.
static void calls(void)
{
	struct epoll_event ev = {.events = EPOLLIN}, got;
	char c = 'x';
	int d = dup(watched);
	must(epoll_ctl(ep, EPOLL_CTL_ADD, d, &ev));
	while (write(pipes[1], &c, 1) != 1)
		;
	while (read(pipes[0], &c, 1) != 1)
		;
	(void)!epoll_wait(ep, &got, 1, 0);
	must(epoll_ctl(ep, EPOLL_CTL_DEL, d, NULL));
	close(d);
}

static void yields(void *arg)
{
	(void)arg;
	for (;;) {
		calls();
		co_yield();
	}
}

// ------------------------------------------------------------- handlers that work

static void works(int sig)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int e = errno, d = dup(watched);
	(void)sig;
	if (d < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, d, &ev) || epoll_ctl(ep, EPOLL_CTL_DEL, d, NULL) ||
	    close(d))
		_exit(98);
	taken++;
	errno = e;
}

// SIGUSR1's on the stack that runs, the others' on the alternate one, each in the last.
static void nests(int sig)
{
	sigjmp_buf here;
	int e = errno;
	if (!sigsetjmp(here, 1)) // within the handler: whatever it interrupted is none the worse
		siglongjmp(here, 1);
	works(sig);
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	else if (sig == SIGUSR2)
		raise(SIGHUP);
	works(sig);
	errno = e;
}

// Handlers call close, epoll_ctl; nest; run on an alternate stack. Every switch is seen.
static int do_storm(long n)
{
	catch(SIGUSR1, nests, SA_RESTART);
	catch(SIGUSR2, nests, SA_RESTART | SA_ONSTACK);
	catch(SIGHUP, nests, SA_RESTART | SA_ONSTACK);
	alternate();
	pthread_t t = begin(n);
	struct co *c = co_new(yields, NULL);
	while (taken < wanted)
		co_resume(c);
	end(t);
	printf("switches %lu\n", co_switches);
	return 0;
}

// ------------------------------------------------------------- handlers that switch

static ucontext_t main_uc, handler_uc, only_uc, visited_uc;
static unsigned long switches;

// A coroutine in which SIGUSR1 is not taken.
static void make(ucontext_t *u, void (*fn)(void))
{
	sigset_t usr1, was;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &was);
	must(getcontext(u));
	sigprocmask(SIG_SETMASK, &was, NULL);
	u->uc_stack.ss_sp = must_map(256 << 10);
	u->uc_stack.ss_size = 256 << 10;
	u->uc_link = NULL;
	makecontext(u, fn, 0);
}

static void visited(void)
{
	for (;;) {
		calls();
		switches++;
		swapcontext(&visited_uc, &handler_uc);
	}
}

static void visits(int sig)
{
	int e = errno;
	(void)sig;
	taken++;
	switches++;
	swapcontext(&handler_uc, &visited_uc); // and back
	errno = e;
}

static int visit(long n, int flags)
{
	struct co *c = co_new(yields, NULL);
	make(&visited_uc, visited);
	catch(SIGUSR1, visits, SA_RESTART | flags);
	alternate();
	pthread_t t = begin(n);
	while (taken < wanted)
		co_resume(c);
	end(t);
	printf("switches %lu\n", co_switches + switches);
	return 0;
}

static int do_visit(long n) { return visit(n, 0); }
static int do_visit_alternate(long n) { return visit(n, SA_ONSTACK); }

// The very coroutine that is about to be entered: until the stack pointer has
// moved there, it is suspended, and a handler may run it for a while.
static ucontext_t *back = &main_uc;

static void only(void)
{
	for (;;) {
		switches++;
		swapcontext(&only_uc, back);
	}
}

static void same(int sig)
{
	int e = errno;
	char *here = __builtin_frame_address(0), *low = only_uc.uc_stack.ss_sp;
	(void)sig;
	taken++;
	if (here < low || here >= low + only_uc.uc_stack.ss_size) {
		back = &handler_uc;
		switches++;
		swapcontext(&handler_uc, &only_uc);
		back = &main_uc;
	}
	errno = e;
}

static int do_same(long n)
{
	make(&only_uc, only);
	switches++;
	swapcontext(&main_uc, &only_uc);
	catch(SIGUSR1, same, SA_RESTART);
	pthread_t t = begin(n);
	while (taken < wanted) {
		switches++;
		must(swapcontext(&main_uc, &only_uc));
	}
	end(t);
	printf("switches %lu\n", switches);
	return 0;
}

// ------------------------------------------------------------- handlers that jump

static sigjmp_buf out;
static volatile sig_atomic_t may_jump;

static void jumps(int sig)
{
	(void)sig;
	taken++;
	if (may_jump) {
		may_jump = 0;
		siglongjmp(out, 1);
	}
}

// Out of whatever was under way, on the stack of main or of a coroutine.
static void jumped(void *arg)
{
	ucontext_t scratch;
	for (;;) {
		if (!sigsetjmp(out, 1)) {
			may_jump = 1;
			for (int i = 0; i < 200; i++) {
				getcontext(&scratch);
				close(dup(watched));
			}
		}
		may_jump = 0;
		if (arg)
			co_yield();
		else if (taken >= wanted)
			return;
	}
}

static int jump(long n, int flags, bool inside_one)
{
	catch(SIGUSR1, jumps, SA_RESTART | flags);
	alternate();
	pthread_t t = begin(n);
	struct co *c = co_new(jumped, (void *)1);
	if (!inside_one)
		jumped(NULL);
	do
		co_resume(c);
	while (taken < wanted);
	end(t);
	printf("switches %lu\n", co_switches);
	return 0;
}

static int do_jump(long n) { return jump(n, 0, false); }
static int do_jump_inside(long n) { return jump(n, 0, true); }
static int do_jump_alternate(long n) { return jump(n, SA_ONSTACK, true); }

// A wait that a handler jumps out of, over and over; and the same on a coroutine's stack.
static void waits(void *arg)
{
	struct epoll_event got;
	for (;;) {
		if (!sigsetjmp(out, 1)) {
			may_jump = 1;
			epoll_wait(ep, &got, 1, -1);
		}
		if (arg)
			co_yield();
		else if (taken >= wanted)
			return;
	}
}

static int do_jump_wait(long n)
{
	catch(SIGUSR1, jumps, 0);
	pthread_t t = begin(n / 2);
	waits(NULL);
	wanted = n;
	struct co *c = co_new(waits, (void *)1);
	do
		co_resume(c);
	while (taken < wanted);
	end(t);
	printf("switches %lu\n", co_switches);
	return 0;
}

// ------------------------------------------------------------- timers

// A timer of the process, as fast as it goes: handlers pile up on whatever runs.
static int do_timer(long n)
{
	timer_t timer;
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec it = {{0, 20000}, {0, 20000}};
	wanted = n;
	must(pipe(pipes));
	watched = eventfd(0, EFD_NONBLOCK);
	ep = epoll_create1(0);
	catch(SIGALRM, works, SA_RESTART);
	must(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	must(timer_settime(timer, 0, &it, NULL));
	struct co *c = co_new(yields, NULL);
	while (taken < wanted)
		co_resume(c);
	timer_delete(timer);
	printf("switches %lu\n", co_switches);
	return 0;
}

// ------------------------------------------------------------- stop and go on

static void report(const char *what, long r)
{
	printf("%s %ld %s\n", what, r, r < 0 ? strerrorname_np(errno) : "");
}

static bool in_state(pid_t pid, char state)
{
	char path[64], text[256] = "", *p;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	bool is = fgets(text, sizeof(text), f) && (p = strrchr(text, ')')) && p[2] == state;
	fclose(f);
	return is;
}

// A child stops its parent, which sleeps, and lets it go on.
static void stopper(int times)
{
	pid_t parent = getppid();
	for (int i = 0; i < times; i++) {
		while (!in_state(parent, 'S'))
			usleep(1000);
		kill(parent, SIGSTOP);
		while (!in_state(parent, 'T'))
			usleep(1000);
		kill(parent, SIGCONT);
	}
	while (!in_state(parent, 'S'))
		usleep(1000);
	(void)!write(pipes[1], "x", 1);
	_exit(0);
}

static void interrupted(void *arg)
{
	struct epoll_event ev = {.events = EPOLLIN};
	char c;
	(void)arg;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &ev));
	report("epoll_wait", epoll_wait(ep, &ev, 1, -1)); // EINTR: it is not restarted after a stop
	report("read", read(pipes[0], &c, 1));            // it is
}

static int do_stop(long n)
{
	(void)n;
	must(pipe(pipes));
	ep = epoll_create1(0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int round = 0; round < 2; round++) {
		pid_t pid = fork();
		if (pid == 0)
			stopper(2);
		if (round)
			co_start(interrupted, NULL);
		else
			interrupted(NULL);
		must(epoll_ctl(ep, EPOLL_CTL_DEL, pipes[0], NULL));
		must(waitpid(pid, NULL, 0));
	}
	printf("switches %lu\n", co_switches);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(long n);
} cases[] = {
	{"storm", do_storm},
	{"timer", do_timer},
	{"visit", do_visit},
	{"visit-alternate", do_visit_alternate},
	{"same", do_same},
	{"jump", do_jump},
	{"jump-inside", do_jump_inside},
	{"jump-alternate", do_jump_alternate},
	{"jump-wait", do_jump_wait},
	{"stop", do_stop},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(argc > 2 ? atol(argv[2]) : 1000);
	fprintf(stderr, "t-signals: what?\n");
	return 2;
}

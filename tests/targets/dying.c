// SPDX-License-Identifier: MIT
//
// dying.c WAY - a server with one coroutine whose descriptor was closed under it,
// which sleeps, and then ends as it is told, when a line comes on stdin.
//   dying.c asks  - prints what it learns about its own signals, alternate stacks, and
//                   the deaths of its children: as without a watcher
#include <errno.h>
#include <signal.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep;
static const char *way;
static volatile int *nowhere;

// ------------------------------------------------------------------- ends

static NOINLINE void conn_reader(void *arg)
{
	char buf[16];
	co_read(ep, *(int *)arg, buf, sizeof(buf));
}

static NOINLINE int deeper(volatile const char *above)
{
	volatile char frame[512];
	frame[0] = *above;
	return above ? deeper(frame) + frame[0] : 0;
}

static NOINLINE void ends_in_coroutine(void *arg)
{
	char c = 0;
	(void)arg;
	if (!strcmp(way, "overflow"))
		deeper(&c);
	*nowhere = 1;
}

static void *lasts_longer(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	return NULL;
}

static NOINLINE void end_now(void)
{
	static pthread_t self, other;
	char *const command[] = {"true", NULL};
	if (!strcmp(way, "exit"))
		exit(3);
	if (!strcmp(way, "_exit"))
		_exit(3);
	if (!strcmp(way, "quick_exit"))
		quick_exit(3);
	if (!strcmp(way, "call"))
		syscall(SYS_exit_group, 3);
	if (!strcmp(way, "fault"))
		*nowhere = 1;
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "exec"))
		execvp("true", command);
	if (!strcmp(way, "thread")) {
		self = pthread_self();
		must(pthread_create(&other, NULL, lasts_longer, &self));
		pthread_exit(NULL);
	}
	if (!strncmp(way, "signal=", 7))
		kill(getpid(), atoi(way + 7));
	static struct co c; // its stack has a guard
	char *memory = must_map(4096 + (64 << 10));
	must(mprotect(memory, 4096, PROT_NONE));
	co_init(&c, ends_in_coroutine, NULL, memory + 4096, 64 << 10);
	co_resume(&c);
}

static bool over;

static void on_line(struct co_handler *h, uint32_t events)
{
	char line[16];
	(void)h;
	(void)events;
	if (read(0, line, sizeof(line)) > 0 && strcmp(way, "return"))
		end_now();
	over = true;
}

static int serve_and_end(void)
{
	static struct co_handler lines = {.fn = on_line, .fd = 0};
	static int fds[2];
	pair("unix", fds);
	co_handle(ep, &lines, EPOLLIN);
	co_start(conn_reader, &fds[0]);
	must(close(fds[0]));
	say("ready");
	while (!over)
		co_turn(ep, -1);
	return 3;
}

// ---------------------------------------------------------------- questions

static void handler(int sig) { (void)sig; }
static void informed(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	printf("handled %d\n", sig);
}

static const char *name(void *h)
{
	return h == (void *)SIG_DFL ? "default" : h == (void *)SIG_IGN ? "ignored" : h == (void *)handler ? "handler" :
	       h == (void *)informed ? "informed" : h == (void *)SIG_ERR ? "error" : "unknown";
}

static void tell(const char *when, int sig)
{
	struct sigaction is;
	must(sigaction(sig, NULL, &is));
	printf("%s: signal %d is %s, flags %#x, mask %d%d\n", when, sig, name((void *)is.sa_sigaction), (unsigned)is.sa_flags,
	       sigismember(&is.sa_mask, SIGUSR1), sigismember(&is.sa_mask, sig));
}

static void ask_signals(void)
{
	static const int all[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGTERM};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART}, none = {.sa_handler = SIG_DFL}, was;
		tell("first", all[i]);
		printf("signal: %s\n", name((void *)signal(all[i], handler)));
		printf("signal: %s\n", name((void *)signal(all[i], SIG_IGN)));
		printf("sysv: %s\n", name((void *)sysv_signal(all[i], SIG_DFL)));
		tell("sysv", all[i]);
		printf("ssignal: %s\n", name((void *)ssignal(all[i], SIG_DFL)));
		tell("default again", all[i]);
		must(sigaction(all[i], &sa, &was));
		tell("with handler", all[i]);
		must(sigaction(all[i], &was, NULL));
		tell("put back", all[i]);
		sigaddset(&none.sa_mask, SIGUSR1);
		must(sigaction(all[i], &none, NULL));
		tell("default with a mask", all[i]);
		printf("signal: %s\n", name((void *)signal(all[i], SIG_DFL)));
	}
}

static void tell_stack(const char *when)
{
	stack_t is;
	must(sigaltstack(NULL, &is));
	printf("%s: %s, %zu bytes, flags %d\n", when, is.ss_sp ? "a stack" : "none", is.ss_size, is.ss_flags);
}

static void nothing(void *arg) { (void)arg; }

static void ask_stacks(void)
{
	stack_t own = {.ss_sp = must_alloc(32 << 10), .ss_size = 32 << 10}, off = {.ss_flags = SS_DISABLE}, was;
	co_start(nothing, NULL);
	tell_stack("after a coroutine");
	must(sigaltstack(&own, &was));
	printf("before: %s, %zu bytes, flags %d\n", was.ss_sp ? "a stack" : "none", was.ss_size, was.ss_flags);
	tell_stack("own");
	must(sigaltstack(&off, &was));
	printf("own was %s\n", was.ss_sp == own.ss_sp ? "own" : "another's");
	tell_stack("off");
}

static sigjmp_buf again;
static char *here;
static void jumps(int sig)
{
	char there;
	long far = here - &there;
	printf("signal %d on %s stack\n", sig, far > 0 && far < (64 << 10) ? "its own" : "another");
	siglongjmp(again, 1);
}

// Asked for an alternate stack, of which the program has none: so it runs where it struck.
static void ask_jumps(void)
{
	struct sigaction sa = {.sa_handler = jumps, .sa_flags = SA_ONSTACK};
	char c;
	here = &c;
	must(sigaction(SIGSEGV, &sa, NULL));
	if (sigsetjmp(again, 1) == 0)
		*nowhere = 1;
	signal(SIGSEGV, SIG_DFL);
	tell_stack("after a handler");
}

// A return from a signal that never came: the kernel finds no frame, as what would be one reaches past the memory. It kills
// by SIGSEGV, SI_KERNEL, behind the call: what goes on from there is not killed again.
static void return_from_none(void)
{
#ifdef __x86_64__
	enum { BYTES = 256 << 10, NEAR_ITS_END = 16 };
	char *memory = must_map(BYTES + 4096);
	must(mprotect(memory + BYTES, 4096, PROT_NONE));
	__asm__ volatile("mov %%rsp, %%rbx\n\tmov %0, %%rsp\n\tmov %1, %%eax\n\tsyscall\n\tmov %%rbx, %%rsp"
			 : : "r"(memory + BYTES - NEAR_ITS_END), "i"(SYS_rt_sigreturn) : "rax", "rbx", "rcx", "r11", "memory");
#else
	raise(SIGSEGV);
#endif
}

static void die_as(int how)
{
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	if (how == 0)
		*nowhere = 1;
	if (how == 1)
		abort();
	if (how == 2)
		raise(SIGFPE);
	if (how == 3)
		co_start(ends_in_coroutine, NULL);
	if (how == 4) {
		struct sigaction sa = {.sa_sigaction = informed, .sa_flags = SA_SIGINFO | SA_RESETHAND};
		sigaction(SIGSEGV, &sa, NULL);
		*nowhere = 1;
	}
	if (how == 5) {
		signal(SIGABRT, SIG_IGN);
		abort();
	}
	if (how == 6) {
		sigset_t all;
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		*nowhere = 1;
	}
	if (how == 7)
		return_from_none();
	_exit(9);
}

static void ask_children(void)
{
	fflush(stdout);
	for (int how = 0; how < 8; how++) {
		int status;
		pid_t pid = fork();
		if (pid == 0) {
			die_as(how);
			_exit(8);
		}
		must(waitpid(pid, &status, 0));
		printf("child %d: %s %d\n", how, WIFSIGNALED(status) ? "signal" : "exit",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	way = argc > 1 ? argv[1] : "exit";
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	if (strcmp(way, "asks"))
		return serve_and_end();
	ask_signals();
	tell_stack("first");
	ask_stacks();
	ask_children();
	ask_jumps();
	return 0;
}

// SPDX-License-Identifier: MIT
//
// attach_busy.c - threads that do all that an attach must not disturb, and say what was disturbed.
//   attach_busy THREADS
// Says "ready"; then does what it reads: a letter each.
//   g  waits until each thread has had its turn twice, then "went: " and what went wrong, by kind
//   q  ends, with 1 if anything went wrong
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { RUN = 8, LONG = 20000, THREADS_MOST = 256, ENGINES_MOST = 16, PERIOD_NS = 1000000, SLACK = 2 };
enum wrong { SWITCHES, ERRNO, INTERRUPTED, BYTES, TIMERS, SIGNALS, REGISTERS, WRONGS };

extern const struct co_engine co_patched[];

static const char *const names[WRONGS] = {"switches", "errno", "interrupted", "bytes", "timers", "signals", "registers"};
static long wrongs[WRONGS];

static struct worker {
	pthread_t thread;
	int tid, fd;            // the other: its end of a pair
	struct worker *partner; // who has the other end, or is sent signals
	long turns, went, handled, said[ENGINES_MOST];
} all[THREADS_MOST];
static int many;

static void check(enum wrong kind, int good)
{
	if (!good)
		__atomic_add_fetch(&wrongs[kind], 1, __ATOMIC_RELAXED);
}

// Of a call that nothing may interrupt; a call that succeeds leaves errno as it is.
static long well(long r, int was)
{
	check(INTERRUPTED, r >= 0 || errno != EINTR);
	check(ERRNO, r < 0 || errno == was);
	return r;
}

// Others may have the CPU, too.
static void turn(struct worker *w)
{
	if (__atomic_add_fetch(&w->turns, 1, __ATOMIC_RELAXED) % RUN == 0)
		nap_ms(5);
}

// ------------------------------------------------------------- switches, and signals on top of them

static __thread struct worker *self;

static void handle(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	check(SIGNALS, info->si_value.sival_int == self->handled + 1);
	__atomic_store_n(&self->handled, info->si_value.sival_int, __ATOMIC_RELEASE);
}

static void counts(void *arg)
{
	for (long *said = arg;; co_yield())
		++*said;
}

static const struct co_engine *engine(int i)
{
	return i == 0 ? &co_ucontext : i == 1 ? &co_sjlj : &co_patched[i - 2];
}

static void *switches(void *arg)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
	struct co *made[ENGINES_MOST];
	int n = 0;
	sigset_t ours;
	self = arg;
	__atomic_store_n(&self->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	pthread_mutex_lock(&making);
	for (; n < ENGINES_MOST && engine(n)->name; n++) {
		co_engine = engine(n);
		made[n] = co_new(counts, &self->said[n]);
	}
	pthread_mutex_unlock(&making);
	sigemptyset(&ours);
	sigaddset(&ours, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
	for (long rounds = 1;; rounds++, turn(arg)) {
		errno = (int)(rounds & 0xfff);
		for (int i = 0; i < n; i++)
			co_resume(made[i]);
		check(ERRNO, errno == (int)(rounds & 0xfff));
		for (int i = 0; i < n; i++)
			check(SWITCHES, self->said[i] == rounds);
	}
	return NULL;
}

static void *sends(void *arg)
{
	struct worker *w = arg;
	for (int n = 1;; n++, turn(w)) {
		siginfo_t info = {.si_code = SI_QUEUE}; // the C library's call blocks signals for an instant
		info.si_value.sival_int = n;
		while (syscall(SYS_rt_tgsigqueueinfo, getpid(), __atomic_load_n(&w->partner->tid, __ATOMIC_ACQUIRE), SIGRTMIN, &info))
			nap_ms(1);
		while (__atomic_load_n(&w->partner->handled, __ATOMIC_ACQUIRE) != n)
			nap_ms(1);
	}
	return NULL;
}

// ------------------------------------------------------------- waits without an end

static uint32_t exchange(int fd, uint32_t mine, int marked)
{
	uint32_t theirs = 0;
	check(BYTES, well(write(fd, &mine, sizeof(mine)), marked) == sizeof(mine));
	check(BYTES, well(read(fd, &theirs, sizeof(theirs)), marked) == sizeof(theirs));
	return theirs;
}

static void *waits_by_epoll(void *arg)
{
	struct worker *w = arg;
	struct epoll_event e = {EPOLLIN, {.u64 = (uint64_t)w}};
	int set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	uint32_t theirs;
	must(epoll_ctl(set, EPOLL_CTL_ADD, w->fd, &e));
	for (uint32_t n = 1;; n++, turn(w)) {
		errno = 1000;
		check(BYTES, well(write(w->fd, &n, sizeof(n)), 1000) == sizeof(n));
		check(BYTES, well(epoll_wait(set, &e, 1, -1), 1000) == 1 && e.data.u64 == (uint64_t)w);
		check(BYTES, well(read(w->fd, &theirs, sizeof(theirs)), 1000) == sizeof(theirs) && theirs == n);
		check(ERRNO, read(-1, &theirs, 1) == -1 && errno == EBADF);
	}
	return NULL;
}

static void *waits_by_poll(void *arg)
{
	struct worker *w = arg;
	uint32_t theirs;
	for (uint32_t n = 1;; n++, turn(w)) {
		struct pollfd input = {w->fd, POLLIN, 0};
		errno = 1001;
		check(BYTES, well(poll(&input, 1, -1), 1001) == 1);
		check(BYTES, well(read(w->fd, &theirs, sizeof(theirs)), 1001) == sizeof(theirs) && theirs == n);
		check(BYTES, well(write(w->fd, &n, sizeof(n)), 1001) == sizeof(n));
	}
	return NULL;
}

static void *reads(void *arg)
{
	struct worker *w = arg;
	for (uint32_t n = 1;; n++, turn(w)) {
		errno = 1002;
		check(BYTES, exchange(w->fd, n, 1002) == n);
	}
	return NULL;
}

// ------------------------------------------------------------- time

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// So many periods have been counted at an instant between the two.
static void check_periods(uint64_t counted, uint64_t first, uint64_t last)
{
	check(TIMERS, counted + SLACK >= first / PERIOD_NS && counted <= last / PERIOD_NS + SLACK);
}

static void *naps(void *arg)
{
	struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	struct timespec nap = {0, PERIOD_NS};
	int fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	uint64_t counted = 0, more, begun = now();
	must(timerfd_settime(fd, 0, &period, NULL));
	for (uint64_t set = now();; turn(arg)) {
		uint64_t before = now();
		check(BYTES, read(fd, &more, sizeof(more)) == sizeof(more));
		check_periods(counted += more, before - set, now() - begun);
		before = now();
		check(INTERRUPTED, clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL) == 0);
		check(TIMERS, now() - before >= PERIOD_NS);
	}
	return NULL;
}

static void *waits_for_signals(void *arg)
{
	struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
	struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	timer_t timer;
	sigset_t set;
	uint64_t counted = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	must(timer_create(CLOCK_MONOTONIC, &how, &timer));
	uint64_t begun = now();
	must(timer_settime(timer, 0, &period, NULL));
	for (uint64_t started = now();; turn(arg)) {
		siginfo_t info;
		uint64_t before = now();
		errno = 1003;
		if (well(sigwaitinfo(&set, &info), 1003) > 0)
			check_periods(counted += 1 + (uint64_t)info.si_overrun, before - started, now() - begun);
	}
	return NULL;
}

// ------------------------------------------------------------- registers

// In the order in which the code below fills them.
struct held {
	struct epoll_event event;
	uint32_t pad;
	uint64_t vectors[32], words[7], control;
};

// With the registers of both[0]; both[1]: what is in them afterwards.
static long wait_with_registers(int set, struct held both[2])
{
	long r = SYS_epoll_wait;
	register long timeout __asm__("r10") = -1;
	_Static_assert(sizeof(struct held) == 336 && offsetof(struct held, words) == 272, "the code counts");
	__asm__ volatile(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tmovups 16+16*\\n(%%rsi), %%xmm\\n\n\t.endr\n\t"
			 "movq 272(%%rsi), %%rbx\n\tmovq 280(%%rsi), %%r12\n\tmovq 288(%%rsi), %%r13\n\t"
			 "movq 296(%%rsi), %%r14\n\tmovq 304(%%rsi), %%r15\n\tmovq 312(%%rsi), %%r8\n\t"
			 "movq 320(%%rsi), %%r9\n\tldmxcsr 328(%%rsi)\n\t"
			 "syscall\n\t"
			 ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tmovups %%xmm\\n, 352+16*\\n(%%rsi)\n\t.endr\n\t"
			 "movq %%rbx, 608(%%rsi)\n\tmovq %%r12, 616(%%rsi)\n\tmovq %%r13, 624(%%rsi)\n\t"
			 "movq %%r14, 632(%%rsi)\n\tmovq %%r15, 640(%%rsi)\n\tmovq %%r8, 648(%%rsi)\n\t"
			 "movq %%r9, 656(%%rsi)\n\tstmxcsr 664(%%rsi)\n\t"
			 : "+a"(r), "+r"(timeout)
			 : "D"(set), "S"(both), "d"(1)
			 : "rbx", "rcx", "r8", "r9", "r11", "r12", "r13", "r14", "r15", "memory", "xmm0", "xmm1", "xmm2",
			   "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
			   "xmm14", "xmm15");
	return r;
}

static void *holds(void *arg)
{
	enum { TRUNCATES = 0x7f80 };
	struct itimerspec period = {{0, 5 * PERIOD_NS}, {0, 5 * PERIOD_NS}};
	struct epoll_event e = {EPOLLIN, {.u64 = 0}};
	int set = (int)must(epoll_create1(EPOLL_CLOEXEC)), fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	uint32_t control = __builtin_ia32_stmxcsr();
	must(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
	must(timerfd_settime(fd, 0, &period, NULL));
	for (uint64_t seed = (uint64_t)arg;; turn(arg)) {
		struct held both[2] = {{.pad = 0}}, *own = &both[0], *found = &both[1];
		uint64_t more;
		for (int i = 0; i < 32 + 7; i++)
			*(i < 32 ? &own->vectors[i] : &own->words[i - 32]) = seed = seed * 0x9e3779b97f4a7c15ULL + 1;
		own->control = TRUNCATES;
		long r = wait_with_registers(set, both);
		__builtin_ia32_ldmxcsr(control);
		check(INTERRUPTED, r == 1);
		check(REGISTERS, !memcmp(own->vectors, found->vectors, sizeof(own->vectors)) &&
					 !memcmp(own->words, found->words, sizeof(own->words)) &&
					 (found->control | 0x3f) == (TRUNCATES | 0x3f)); // flags of inexact results may be set
		check(BYTES, read(fd, &more, sizeof(more)) == sizeof(more));
	}
	return NULL;
}

// ------------------------------------------------------------- all of them

static void report(void)
{
	for (int i = 0; i < many; i++)
		all[i].went = __atomic_load_n(&all[i].turns, __ATOMIC_RELAXED);
	for (int i = 0; i < many; i++)
		for (int naps = 0; __atomic_load_n(&all[i].turns, __ATOMIC_RELAXED) < all[i].went + 2; naps++) {
			nap_ms(1);
			if (naps == LONG)
				printf("thread %d, of kind %d, does not go on\n", i, i % 8);
		}
	printf("went:");
	for (int i = 0; i < WRONGS; i++)
		printf(" %ld %s", wrongs[i], names[i]);
	printf("\n");
}

static void start(void)
{
	static void *(*const kinds[8])(void *) = {switches, sends, waits_by_epoll, waits_by_poll, reads, reads, naps, holds};
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t ours;
	sigemptyset(&ours);
	sigaddset(&ours, SIGRTMIN);
	sigaddset(&ours, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &ours, NULL);
	must(sigaction(SIGRTMIN, &action, NULL));
	for (int i = 0; i < many; i++) {
		int ends[2], is = i % 8;
		if (is == 2 || is == 4) {
			must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
			all[i].fd = ends[0];
			all[i + 1].fd = ends[1];
		}
		if (is == 1)
			all[i].partner = &all[i - 1];
		must(pthread_create(&all[i].thread, NULL, i == many - 1 ? waits_for_signals : kinds[is], &all[i]));
	}
}

int main(int argc, char **argv)
{
	long sum = 0;
	many = argc > 1 ? atoi(argv[1]) : 64;
	if (many % 8 || many > THREADS_MOST)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	start();
	puts("ready");
	for (char order = 0; order != 'q';) {
		struct pollfd input = {STDIN_FILENO, POLLIN, 0};
		errno = 1004;
		if (well(poll(&input, 1, -1), 1004) == 1 && read(STDIN_FILENO, &order, 1) == 1)
			report();
	}
	for (int i = 0; i < WRONGS; i++)
		sum += wrongs[i];
	_exit(sum != 0);
}

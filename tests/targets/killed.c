// SPDX-License-Identifier: MIT
//
// killed PAGE THREADS ROUNDS FORKS LOST: coroutines that switch on THREADS threads, for whoever kills
// something at a random instant. PAGE is a file in which each thread counts: a switch is begun before the call that
// makes it, and done where it arrives; so what a tracer recorded lies between the two, or is equal to both if
// the program ended by itself. FORKS children do the same, one after the other, uncounted. LOST descriptors are closed under a
// coroutine that waits for them. At the end it prints its switches and the signals that it got, and exits with 7.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { THREADS_MOST = 16, COROUTINES = 4, TURNS = 50, STACK = 64 << 10 };

struct count {
	_Alignas(64) _Atomic uint64_t begun;
	_Atomic uint64_t done;
};

struct page {
	_Atomic uint32_t phase, pid; // phase 1: it runs, 2: all threads are done
	struct count counts[THREADS_MOST];
};

struct thread {
	struct count *count;
	ucontext_t self, co[COROUTINES];
	char *stacks;
	int epoll, waits_for; // a descriptor, or -1
	unsigned rounds, lost;
};

static atomic_uint signals_got[65];
static __thread struct thread *me;

static void got(int sig)
{
	signals_got[sig]++;
}

static void begin(struct count *c)
{
	atomic_store_explicit(&c->begun, c->begun + 1, memory_order_release);
}

static void arrive(struct count *c)
{
	atomic_store_explicit(&c->done, c->done + 1, memory_order_release);
}

static void leave(struct thread *t, ucontext_t *from, ucontext_t *to)
{
	begin(t->count);
	must(swapcontext(from, to));
	arrive(t->count);
}

// Asks a descriptor for what is not there, registers it, and waits.
static void wait_in_vain(struct thread *t)
{
	struct epoll_event e = {.events = EPOLLIN};
	char c;
	if (read(t->waits_for, &c, 1) < 0 && errno == EAGAIN)
		must(epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->waits_for, &e));
}

static void body(int i)
{
	struct thread *t = me;
	arrive(t->count);
	if (t->waits_for >= 0 && i == 0)
		wait_in_vain(t);
	for (unsigned n = 0; n < TURNS; n++)
		leave(t, &t->co[i], &t->self);
	begin(t->count); // the return through uc_link
}

static void make(struct thread *t, int i)
{
	must(getcontext(&t->co[i]));
	t->co[i].uc_stack.ss_sp = t->stacks + (size_t)i * STACK;
	t->co[i].uc_stack.ss_size = STACK;
	t->co[i].uc_link = &t->self;
	makecontext(&t->co[i], (void (*)(void))body, 1, i);
}

static void lose(struct thread *t)
{
	int ends[2];
	must(pipe2(ends, O_NONBLOCK | O_CLOEXEC));
	t->waits_for = ends[0];
	leave(t, &t->self, &t->co[0]);
	must(close(ends[0]));
	must(close(ends[1]));
	t->waits_for = -1;
	t->lost--;
}

static void one_round(struct thread *t)
{
	struct epoll_event e;
	for (int i = 0; i < COROUTINES; i++)
		make(t, i);
	unsigned first = t->lost > 0;
	if (first)
		lose(t);
	for (int i = 0; i < COROUTINES; i++)
		for (unsigned n = i ? 0 : first; n <= TURNS; n++)
			leave(t, &t->self, &t->co[i]);
	int n = epoll_wait(t->epoll, &e, 1, first ? 5 : 0);
	must(n < 0 && errno != EINTR ? -1 : 0);
}

static void *run(void *arg)
{
	struct thread *t = me = arg;
	t->waits_for = -1;
	t->epoll = (int)must(epoll_create1(EPOLL_CLOEXEC));
	t->stacks = mmap(NULL, COROUTINES * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(t->stacks == MAP_FAILED ? -1 : 0);
	while (t->rounds--)
		one_round(t);
	return NULL;
}

static void children(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int status;
		pid_t pid = (pid_t)must(fork());
		if (!pid) {
			static struct count own;
			struct thread t = {.count = &own, .rounds = 5};
			run(&t);
			_exit(own.begun == own.done ? 3 : 4);
		}
		while (waitpid(pid, &status, 0) < 0)
			must(errno == EINTR ? 0 : -1);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
			printf("child %x\n", (unsigned)status);
	}
}

int main(int argc, char **argv)
{
	static struct thread threads[THREADS_MOST];
	pthread_t ids[THREADS_MOST];
	unsigned n = argc > 5 ? (unsigned)atoi(argv[2]) : 1;
	struct sigaction act = {.sa_handler = got, .sa_flags = SA_RESTART};
	int fd = (int)must(open(argv[1], O_RDWR | O_CLOEXEC));
	struct page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(page == MAP_FAILED ? -1 : close(fd));
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && sig != SIGSEGV && sig != SIGABRT)
			must(sigaction(sig, &act, NULL));
	atomic_store(&page->pid, (uint32_t)getpid());
	for (unsigned i = 0; i < n; i++) {
		threads[i].count = &page->counts[i];
		threads[i].rounds = (unsigned)atoi(argv[3]) / n;
		threads[i].lost = (unsigned)atoi(argv[5]);
		must(-pthread_create(&ids[i], NULL, run, &threads[i]));
	}
	atomic_store(&page->phase, 1);
	children((unsigned)atoi(argv[4]));
	uint64_t switches = 0;
	for (unsigned i = 0; i < n; i++) {
		must(-pthread_join(ids[i], NULL));
		switches += page->counts[i].begun;
	}
	printf("switches %llu\n", (unsigned long long)switches);
	for (int sig = 1; sig < 32; sig++)
		if (signals_got[sig])
			printf("signal %d: %u\n", sig, signals_got[sig]);
	fflush(stdout);
	atomic_store(&page->phase, 2);
	return 7;
}

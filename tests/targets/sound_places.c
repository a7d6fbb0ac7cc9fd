// SPDX-License-Identifier: MIT
//
// sound_places.c - see sound_hide.h: memory, kernel queues and registers in
// which programs keep what leads to a coroutine.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sound_hide.h"

enum { SLICE = 64 << 10, SLICES = 16, MINE = 9, PAGE = 4096 };

// ---- words that are not aligned, or not a whole word

static struct __attribute__((packed)) {
	char kind;
	struct co *co;
	char more[16];
} packed;

static void hide_packed(struct co *c)
{
	packed.co = c;
}

static struct co *find_packed(void)
{
	return packed.co;
}

static uint64_t counted; // 48 bits of pointer above a 16-bit count, as lock-free lists have it

static void hide_counted(struct co *c)
{
	counted = (uint64_t)(uintptr_t)c << 16 | 0x1234;
}

static struct co *find_counted(void)
{
	return (struct co *)(uintptr_t)(counted >> 16);
}

// ---- mappings

static struct co **page;

static void page_keeps(struct co *c, int flags, int fd, int prot)
{
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
	must(page == MAP_FAILED ? -1 : 0);
	page[7] = c;
	must(mprotect(page, PAGE, prot));
}

static void hide_private_ro(struct co *c)
{
	page_keeps(c, MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_READ);
}

static void hide_private_none(struct co *c)
{
	page_keeps(c, MAP_PRIVATE | MAP_ANONYMOUS, -1, PROT_NONE);
}

static void hide_shared_ro(struct co *c)
{
	page_keeps(c, MAP_SHARED | MAP_ANONYMOUS, -1, PROT_READ);
}

static void hide_shared_none(struct co *c)
{
	page_keeps(c, MAP_SHARED | MAP_ANONYMOUS, -1, PROT_NONE);
}

// Written through the descriptor, read through the mapping.
static void hide_file_ro(struct co *c)
{
	char name[] = "/tmp/sound-XXXXXX";
	int fd = (int)must(mkstemp(name));
	must(unlink(name));
	must(ftruncate(fd, PAGE));
	must(pwrite(fd, &c, sizeof(c), 7 * sizeof(c)));
	page = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0); // longer than the file
	must(page == MAP_FAILED ? -1 : 0);
	must(close(fd));
}

static struct co *find_page(void)
{
	must(mprotect(page, PAGE, PROT_READ));
	return page[7];
}

static FILE *file;

static void hide_stream(struct co *c)
{
	file = fopen("/dev/null", "w");
	must(file ? 0 : -1);
	setvbuf(file, NULL, _IOFBF, PAGE);
	fwrite("x", 1, 1, file);
	fwrite(&c, 1, sizeof(c), file); // odd place in the buffer
}

static struct co *find_stream(void)
{
	struct co *c;
	memcpy(&c, file->_IO_write_base + 1, sizeof(c));
	return c;
}

// ---- the kernel's queues

static int queue[2];

static void send_queue(struct co *c)
{
	must(write(queue[1], &c, sizeof(c)));
}

static void hide_pipe(struct co *c)
{
	pair("pipe", queue);
	send_queue(c);
}

static void hide_socketpair(struct co *c)
{
	pair("unix", queue);
	send_queue(c);
}

static void hide_tcp(struct co *c)
{
	pair("tcp", queue);
	send_queue(c);
}

static void hide_udp(struct co *c)
{
	pair("udp", queue);
	send_queue(c);
}

static void hide_eventfd(struct co *c)
{
	pair("eventfd", queue);
	send_queue(c);
}

static struct co *find_queue(void)
{
	struct co *c;
	must(read(queue[0], &c, sizeof(c)));
	return c;
}

// In a file that is open but not mapped.
static void hide_memfd(struct co *c)
{
	queue[0] = queue[1] = (int)must(memfd_create("queue", MFD_CLOEXEC));
	send_queue(c);
	must(lseek(queue[0], 0, SEEK_SET));
}

// The value of a signal that waits for a thread which blocks it.
static pthread_barrier_t both;
static struct co *given;

static void *signal_thread(void *arg)
{
	sigset_t set;
	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both); // until it is asked for
	siginfo_t si;
	sigwaitinfo(&set, &si);
	given = si.si_value.sival_ptr;
	pthread_barrier_wait(&both);
	return NULL;
}

static void hide_signal(struct co *c)
{
	pthread_barrier_init(&both, NULL, 2);
	pthread_t t = co_thread(signal_thread, NULL);
	pthread_barrier_wait(&both);
	must(pthread_sigqueue(t, SIGRTMIN, (union sigval){.sival_ptr = c}) ? -1 : 0);
}

static struct co *find_signal(void)
{
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return given;
}

static timer_t timer;

static void hide_timer(struct co *c)
{
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_ptr = c};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(timer_create(CLOCK_MONOTONIC, &e, &timer));
}

static struct co *find_timer(void)
{
	struct itimerspec t = {.it_value = {0, 1}};
	sigset_t set;
	siginfo_t si;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	must(timer_settime(timer, 0, &t, NULL));
	sigwaitinfo(&set, &si);
	return si.si_value.sival_ptr;
}

// A set within a set, whose own number is closed: a dup keeps it.
static int inner;

static void hide_nested(struct co *c)
{
	inner = (int)must(epoll_create1(EPOLL_CLOEXEC));
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c}, outer = {.events = 0};
	must(epoll_ctl(inner, EPOLL_CTL_ADD, (int)must(eventfd(1, EFD_CLOEXEC)), &ev));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, inner, &outer));
}

static struct co *find_nested(void)
{
	struct epoll_event ev;
	must(epoll_wait(inner, &ev, 1, 0));
	return ev.data.ptr;
}

// ---- registers

#ifdef __x86_64__
// A process of its own that shares our memory, as clone(2) makes it; it has it in a register.
static int other_word;

static int other_process(void *arg)
{
	register void *c __asm__("rbx") = *(void **)arg;
	*(void **)arg = NULL;
	__asm__ volatile("" : "+r"(c));
	__atomic_store_n(&other_word, 1, __ATOMIC_SEQ_CST);
	long r;
	do {
		__asm__ volatile("syscall" : "=a"(r), "+r"(c) : "0"((long)SYS_futex), "D"(&other_word), "S"(128L), "d"(1L) : "rcx", "r11", "memory");
	} while (__atomic_load_n(&other_word, __ATOMIC_SEQ_CST) == 1);
	given = c;
	__atomic_store_n(&other_word, 3, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return 0;
}

static void hide_process(struct co *c)
{
	static void *arg;
	arg = c;
	char *stack = must_map(SLICE);
	must(clone(other_process, stack + SLICE, CLONE_VM | CLONE_FILES | CLONE_FS, &arg));
	while (!__atomic_load_n(&other_word, __ATOMIC_SEQ_CST))
		sched_yield();
}

static struct co *find_process(void)
{
	__atomic_store_n(&other_word, 2, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &other_word, 129, 1, NULL, NULL, 0);
	while (__atomic_load_n(&other_word, __ATOMIC_SEQ_CST) != 3)
		sched_yield();
	return given;
}
#endif

// ---- found by number, in a pool that nothing points into but at its start

static char *pool;

static struct co *in_pool(co_fn *fn, char *slice)
{
	struct co *c = (struct co *)slice;
	co_init(c, fn, NULL, slice + sizeof(*c), SLICE - PAGE - sizeof(*c));
	return c;
}

// One mapping, a page without access between slices.
static struct co *make_guards(co_fn *fn)
{
	pool = must_map(SLICES * SLICE);
	for (int i = 0; i < SLICES; i++)
		must(mprotect(pool + (i + 1) * SLICE - PAGE, PAGE, PROT_NONE));
	return in_pool(fn, pool + MINE * SLICE);
}

// Address space taken first, slices put into it when needed.
static struct co *make_fixed(co_fn *fn)
{
	pool = mmap(NULL, SLICES * SLICE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(pool == MAP_FAILED ? -1 : 0);
	char *slice = mmap(pool + MINE * SLICE, SLICE - PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	must(slice == MAP_FAILED ? -1 : 0);
	return in_pool(fn, slice);
}

// The same, made behind the C library.
static struct co *make_raw(co_fn *fn)
{
	pool = (char *)must(syscall(SYS_mmap, NULL, SLICES * SLICE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (int i = 0; i < SLICES; i++)
		must(mprotect(pool + (i + 1) * SLICE - PAGE, PAGE, PROT_NONE));
	return in_pool(fn, pool + MINE * SLICE);
}

// A pool that grew out of a smaller mapping.
static struct co *make_moved(co_fn *fn)
{
	pool = must_map(SLICE);
	pool = mremap(pool, SLICE, SLICES * SLICE, MREMAP_MAYMOVE);
	must(pool == MAP_FAILED ? -1 : 0);
	return in_pool(fn, pool + MINE * SLICE);
}

static void hide_nothing(struct co *c)
{
	(void)c;
}

static struct co *find_in_pool(void)
{
	return (struct co *)(pool + MINE * SLICE);
}

// The tail of the coroutine's mapping is given back, and becomes the program's table.
static struct co **table;

static struct co *make_tail(co_fn *fn)
{
	char *at = must_map(2 * SLICE);
	struct co *c = in_pool(fn, at);
	must(munmap(at + SLICE, SLICE));
	table = mmap(at + SLICE, SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must((char *)table == at + SLICE ? 0 : -1);
	return c;
}

static void hide_tail(struct co *c)
{
	table[100] = c;
}

static struct co *find_tail(void)
{
	return table[100];
}

const struct hide hides[] = {
	{"packed", NULL, hide_packed, find_packed},
	{"counted", NULL, hide_counted, find_counted},
	{"private_ro", NULL, hide_private_ro, find_page},
	{"private_none", NULL, hide_private_none, find_page},
	{"shared_ro", NULL, hide_shared_ro, find_page},
	{"shared_none", NULL, hide_shared_none, find_page},
	{"file_ro", NULL, hide_file_ro, find_page},
	{"stream", NULL, hide_stream, find_stream},
	{"pipe", NULL, hide_pipe, find_queue},
	{"socketpair", NULL, hide_socketpair, find_queue},
	{"tcp", NULL, hide_tcp, find_queue},
	{"udp", NULL, hide_udp, find_queue},
	{"eventfd", NULL, hide_eventfd, find_queue},
	{"memfd", NULL, hide_memfd, find_queue},
	{"signal", NULL, hide_signal, find_signal},
	{"timer", NULL, hide_timer, find_timer},
	{"nested", NULL, hide_nested, find_nested},
#ifdef __x86_64__
	{"process", NULL, hide_process, find_process},
#endif
	{"pool_guards", make_guards, hide_nothing, find_in_pool},
	{"pool_fixed", make_fixed, hide_nothing, find_in_pool},
	{"pool_raw", make_raw, hide_nothing, find_in_pool},
	{"pool_moved", make_moved, hide_nothing, find_in_pool},
	{"tail", make_tail, hide_tail, find_tail},
	{NULL, NULL, NULL, NULL},
};

// SPDX-License-Identifier: MIT
//
// sound_stacks.c - see sound_hide.h: words in and around stacks and saved
// contexts, where much is dead, and some is not.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "sound_hide.h"

enum { SLICE = 64 << 10, PAGE = 4096, KEY = 0x5a5a5a5a };

static struct co *at_top(co_fn *fn, char *map, size_t bytes)
{
	struct co *c = (struct co *)(map + bytes) - 1;
	co_init(c, fn, NULL, map, (size_t)((char *)c - map) & ~(size_t)15);
	return c;
}

// ---- one past the end of a mapping whose last bytes are the control block

static char *end;

static struct co *make_end(co_fn *fn)
{
	return at_top(fn, must_map(SLICE), SLICE);
}

static struct co *make_end_shared(co_fn *fn)
{
	char *map = mmap(NULL, SLICE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(map == MAP_FAILED ? -1 : 0);
	return at_top(fn, map, SLICE);
}

// Another coroutine's stack begins where it ends.
static struct co *make_end_between(co_fn *fn)
{
	char *map = must_map(2 * SLICE);
	must(munmap(map, 2 * SLICE));
	char *low = mmap(map, SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	char *high = mmap(map + SLICE, SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	must(low == map && high == map + SLICE ? 0 : -1);
	return at_top(fn, low, SLICE);
}

static void idle(void *arg)
{
	(void)arg;
	for (;;)
		co_yield();
}

static void hide_end(struct co *c)
{
	end = (char *)(c + 1);
}

static struct co *other; // a coroutine that waits for no descriptor

static void hide_end_between(struct co *c)
{
	end = (char *)(c + 1);
	other = must_alloc(sizeof(*other));
	co_init(other, idle, NULL, end, SLICE);
	other->pinned = true;
	co_resume(other);
}

static struct co *find_end(void)
{
	return (struct co *)end - 1;
}

// ---- words of a saved context that is needed no more

static void make_other(void)
{
	other = co_new(idle, NULL);
	other->pinned = true;
	co_resume(other);
}

#ifdef __x86_64__
// The control block of a coroutine that was given up, used for something else.
static void hide_slot(struct co *c)
{
	make_other();
	other->own.uc.uc_mcontext.gregs[REG_RDX] = (greg_t)(uintptr_t)c;
}

static struct co *find_slot(void)
{
	return (struct co *)(uintptr_t)other->own.uc.uc_mcontext.gregs[REG_RDX];
}

static void hide_slot_second(struct co *c)
{
	make_other();
	other->own.uc.uc_mcontext.gregs[REG_RSI] = (greg_t)(uintptr_t)c;
}

static struct co *find_slot_second(void)
{
	return (struct co *)(uintptr_t)other->own.uc.uc_mcontext.gregs[REG_RSI];
}

// The loop's own context: it has gone on since, and will not go back there.
static union co_context loop;

static NOINLINE void enter_by_loop(void)
{
	other = co_new(idle, NULL);
	other->pinned = true;
	co_resume_from(other, &loop);
}

static NOINLINE void far_below(void)
{
	char room[PAGE];
	__asm__ volatile("" : : "r"(room) : "memory");
	enter_by_loop();
}

static void hide_loop_slot(struct co *c)
{
	far_below();
	loop.uc.uc_mcontext.gregs[REG_R12] = (greg_t)(uintptr_t)c;
}

static struct co *find_loop_slot(void)
{
	return (struct co *)(uintptr_t)loop.uc.uc_mcontext.gregs[REG_R12];
}
#endif

// ---- below the stack pointer

// At the lowest address of another's stack, as old kernels keep a thread's data.
static void hide_bottom(struct co *c)
{
	make_other();
	*(struct co **)other->stack = c;
}

static struct co *find_bottom(void)
{
	return *(struct co **)other->stack;
}

static void hide_bottom_heap(struct co *c)
{
	co_kind = CO_HEAP;
	hide_bottom(c);
}

static void nothing(void *arg)
{
	(void)arg;
}

// Where frames have been that are no more: under those of libc in which a thread sleeps, and further down.
static uint64_t left_there;
static sem_t never_posted;

static NOINLINE void leave_words(void)
{
	enum { WORDS = 1024 };
	uint64_t words[WORDS];
	for (int i = 0; i < WORDS; i++)
		words[i] = left_there ^ KEY;
	__asm__ volatile("" : : "r"(words) : "memory");
}

static NOINLINE void leave_words_below(void)
{
	char wiped[4 * PAGE];
	memset(wiped, 0, sizeof(wiped));
	__asm__ volatile("" : : "r"(wiped) : "memory");
	leave_words();
	memset(wiped, 0, sizeof(wiped));
	__asm__ volatile("" : : "r"(wiped) : "memory");
}

static void *leaves_words(void *arg)
{
	sem_trywait(&never_posted); // bound already
	if (*(bool *)arg)
		leave_words_below();
	else
		leave_words();
	left_there = 0;
	sem_wait(&never_posted);
	return arg;
}

static void hide_left(struct co *c, bool further_down)
{
	static bool how;
	how = further_down;
	left_there = (uint64_t)c ^ KEY;
	c = NULL;
	sem_init(&never_posted, 0, 0);
	co_thread(leaves_words, &how);
	while (__atomic_load_n(&left_there, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void hide_left_frame(struct co *c)
{
	hide_left(c, false);
}

static void hide_left_below(struct co *c)
{
	hide_left(c, true);
}

// A thread's stack is the upper half of a region, above a guard; the lower one is a table.
static char *region;
static pthread_barrier_t never;

static void *sleeper(void *arg)
{
	co_start(nothing, NULL);
	pthread_barrier_wait(arg);
	pthread_barrier_wait(&never);
	return NULL;
}

static void hide_region(struct co *c)
{
	static pthread_barrier_t there;
	pthread_attr_t attr;
	pthread_t t;
	char *map = must_map(16 * SLICE + PAGE);
	must(mprotect(map, PAGE, PROT_NONE));
	region = map + PAGE;
	((struct co **)region)[1000] = c;
	c = NULL;
	pthread_barrier_init(&there, NULL, 2);
	pthread_barrier_init(&never, NULL, 2);
	pthread_attr_init(&attr);
	must(pthread_attr_setstack(&attr, region + 8 * SLICE, 8 * SLICE) ? -1 : 0);
	must(pthread_create(&t, &attr, sleeper, &there) ? -1 : 0);
	pthread_barrier_wait(&there);
}

static struct co *find_region(void)
{
	return ((struct co **)region)[1000];
}

// A handler on an array in the frame of a function, which runs the loop. Below
// that array stand the frames of those whom the signal found.
static uintptr_t on_its_way;
static struct co *volatile *kept;

static void on_signal(int number)
{
	(void)number;
	settle();
}

static NOINLINE void take(struct co *volatile *to)
{
	*to = (struct co *)(on_its_way ^ KEY);
	on_its_way = 0;
}

// What lies further down, and in registers, which the signal's frame keeps.
static NOINLINE void forget(void)
{
	char dead[2 * PAGE];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

static NOINLINE void below(void)
{
	struct co *volatile mine;
	take(&mine);
	kept = &mine;
	forget();
	raise(SIGUSR1);
}

static NOINLINE void hide_frame(struct co *c)
{
	on_its_way = (uintptr_t)c ^ KEY;
	c = NULL;
	char array[2 * SLICE];
	stack_t alt = {.ss_sp = array, .ss_size = sizeof(array)};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	memset(array, 0, sizeof(array));
	must(sigaltstack(&alt, NULL));
	must(sigaction(SIGUSR1, &sa, NULL));
	below();
	__asm__ volatile("" : : "r"(array) : "memory");
}

static struct co *find_frame(void)
{
	return *kept;
}

// The same on a coroutine's stack; it leaves from within the handler.
static void on_signal_yields(int number)
{
	(void)number;
	for (;;)
		co_yield();
}

static void with_array(void *arg)
{
	char array[4 * PAGE];
	stack_t alt = {.ss_sp = array, .ss_size = sizeof(array)};
	struct sigaction sa = {.sa_handler = on_signal_yields, .sa_flags = SA_ONSTACK};
	(void)arg;
	memset(array, 0, sizeof(array));
	must(sigaltstack(&alt, NULL));
	must(sigaction(SIGUSR1, &sa, NULL));
	below();
	__asm__ volatile("" : : "r"(array) : "memory");
}

static void hide_frame_of_other(struct co *c)
{
	on_its_way = (uintptr_t)c ^ KEY;
	c = NULL;
	other = co_new(with_array, NULL);
	other->pinned = true;
	co_resume(other);
}

// ---- behind the events that a thread sleeps to get

static struct {
	struct epoll_event ev[5];
	int n;
	struct co *co;
} events;

static void *poller(void *arg)
{
	int set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	must(epoll_ctl(set, EPOLL_CTL_ADD, (int)must(eventfd(1, EFD_CLOEXEC)), &ev));
	volatile int most = 64; // more than there is room for: but there is one event
	events.n = (int)must(epoll_wait(set, events.ev, most, 0));
	pthread_barrier_wait(arg);
	must(epoll_wait(set, events.ev, most, -1));
	return NULL;
}

static void hide_events(struct co *c)
{
	static pthread_barrier_t there;
	pthread_barrier_init(&there, NULL, 2);
	events.co = c;
	co_thread(poller, &there);
	pthread_barrier_wait(&there);
}

static struct co *find_events(void)
{
	return events.co;
}

// ---- four bytes are a pointer, too

static struct co *make_low(co_fn *fn)
{
	char *map = mmap(NULL, SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	must(map == MAP_FAILED ? -1 : 0);
	struct co *c = (struct co *)map;
	co_init(c, fn, NULL, map + sizeof(*c), SLICE - sizeof(*c));
	return c;
}

static struct {
	uint32_t co, more;
} both_low = {0, 0xdeadbeef};

static void hide_low(struct co *c)
{
	both_low.co = (uint32_t)(uintptr_t)c;
}

static struct co *find_low(void)
{
	return (struct co *)(uintptr_t)both_low.co;
}

// In the data of a registration, beside something else.
static int inner;

static void hide_low_row(struct co *c)
{
	inner = (int)must(epoll_create1(EPOLL_CLOEXEC));
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 0xdeadbeef00000000 | (uint32_t)(uintptr_t)c};
	must(epoll_ctl(inner, EPOLL_CTL_ADD, (int)must(eventfd(1, EFD_CLOEXEC)), &ev));
}

static struct co *find_low_row(void)
{
	struct epoll_event ev;
	must(epoll_wait(inner, &ev, 1, 0));
	return (struct co *)(uintptr_t)ev.data.u32;
}

const struct hide hides_stack[] = {
	{"end", make_end, hide_end, find_end},
	{"end_shared", make_end_shared, hide_end, find_end},
	{"end_between", make_end_between, hide_end_between, find_end},
#ifdef __x86_64__
	{"slot", NULL, hide_slot, find_slot},
	{"slot_second", NULL, hide_slot_second, find_slot_second},
	{"loop_slot", NULL, hide_loop_slot, find_loop_slot},
#endif
	{"left_frame", NULL, hide_left_frame, find_low},
	{"left_below", NULL, hide_left_below, find_low},
	{"bottom", NULL, hide_bottom, find_bottom},
	{"bottom_heap", NULL, hide_bottom_heap, find_bottom},
	{"region", NULL, hide_region, find_region},
	{"frame", NULL, hide_frame, find_frame},
	{"frame_of_other", NULL, hide_frame_of_other, find_frame},
	{"events", NULL, hide_events, find_events},
	{"low", make_low, hide_low, find_low},
	{"low_row", make_low, hide_low_row, find_low_row},
	{NULL, NULL, NULL, NULL},
};

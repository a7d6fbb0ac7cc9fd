// SPDX-License-Identifier: MIT
//
// sound_registers.c - see sound_hide.h: vector, mask and MMX registers. The word is the
// program's where its own text made the system call, or was interrupted (register_*,
// vector*); it is nobody's any more where the program called libc (dead_*).
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "registers.h"
#include "sound_hide.h"

static uint64_t on_its_way; // the coroutine, disguised
static int word;            // 1: in its register, 2: it is asked for
static pthread_barrier_t both;
static struct co *given;

static void disguise(struct co *c)
{
	on_its_way = (uint64_t)c ^ REGISTERS_KEY;
	pthread_barrier_init(&both, NULL, 2);
}

static void until_kept(void)
{
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		sched_yield();
}

// A system call of the program's own.
static inline __attribute__((always_inline)) void nap(void)
{
	register long timeout __asm__("r10") = 0;
	for (long nr = SYS_futex, r; __atomic_load_n(&word, __ATOMIC_SEQ_CST) == 1;)
		__asm__ volatile("syscall" : "=a"(r) : "0"(nr), "D"(&word), "S"(128L), "d"(1L), "r"(timeout) : "rcx", "r11", "memory");
}

static inline __attribute__((always_inline)) void put(enum registers kind)
{
	registers_put(kind, &on_its_way);
	on_its_way = 0;
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
}

static void give(uint64_t c)
{
	given = (struct co *)c;
	pthread_barrier_wait(&both);
}

static struct co *ask(void)
{
	__atomic_store_n(&word, 2, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, 129, 1, NULL, NULL, 0);
	pthread_barrier_wait(&both);
	return given;
}

// ---- in one register, while a thread sleeps

static void keep_asleep(enum registers kind)
{
	put(kind);
	nap();
	give(registers_get(kind));
}

static void *sleeper(void *arg)
{
	keep_asleep((enum registers)(uintptr_t)arg);
	return NULL;
}

static void hide_in(enum registers kind, struct co *c)
{
	if (!registers_have(kind)) {
		say("no such register");
		_exit(0);
	}
	disguise(c);
	c = NULL;
	co_thread(sleeper, (void *)(uintptr_t)kind);
	until_kept();
}

static void hide_mm(struct co *c)
{
	hide_in(REGISTERS_MM, c);
}

static void hide_xmm(struct co *c)
{
	hide_in(REGISTERS_XMM, c);
}

static void hide_ymm(struct co *c)
{
	hide_in(REGISTERS_YMM, c);
}

static void hide_zmm(struct co *c)
{
	hide_in(REGISTERS_ZMM, c);
}

static void hide_mask(struct co *c)
{
	hide_in(REGISTERS_MASK, c);
}

// ---- the innermost frame is the program's, though libc has called it

static int compares(const void *a, const void *b)
{
	(void)a;
	(void)b;
	if (!word)
		keep_asleep(REGISTERS_XMM);
	return 0;
}

static void *sorter(void *arg)
{
	int two[2] = {2, 1};
	qsort(two, 2, sizeof(*two), compares);
	return arg;
}

static void hide_callback(struct co *c)
{
	disguise(c);
	c = NULL;
	co_thread(sorter, NULL);
	until_kept();
}

// Below the C library's call of main.
static void *runs_loop(void *arg)
{
	until_kept();
	settle();
	return arg;
}

static void hide_main(struct co *c)
{
	disguise(c);
	c = NULL;
	co_thread(runs_loop, NULL);
	keep_asleep(REGISTERS_XMM);
	for (;;)
		pause();
}

// ---- the innermost frame is libc's, on top of a signal frame

static void on_signal(int number)
{
	(void)number;
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 1)
		syscall(SYS_futex, &word, 128, 1, NULL, NULL, 0);
}

static int spinning;

static void *spinner(void *arg)
{
	registers_put(REGISTERS_XMM, &on_its_way);
	on_its_way = 0;
	__atomic_store_n(&spinning, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		;
	give(registers_get(REGISTERS_XMM));
	return arg;
}

static void hide_handler(struct co *c)
{
	struct sigaction sa = {.sa_handler = on_signal};
	must(sigaction(SIGUSR1, &sa, NULL));
	disguise(c);
	c = NULL;
	pthread_t t = co_thread(spinner, NULL);
	while (!__atomic_load_n(&spinning, __ATOMIC_SEQ_CST))
		sched_yield();
	must(pthread_kill(t, SIGUSR1));
	until_kept();
}

// ---- in a register that a call preserves, while the program is in one

#define KEEPER(name, reg) \
	uint64_t name(uint64_t *disguised, sem_t *asleep, int (*wait)(sem_t *), uint64_t key); \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n" \
		".cfi_startproc\npush %" reg "\n.cfi_def_cfa_offset 16\n.cfi_offset %" reg ", -16\n" \
		"movq (%rdi), %" reg "\nxorq %rcx, %" reg "\nmovq $0, (%rdi)\nmovq %rsi, %rdi\ncall *%rdx\n" \
		"movq %" reg ", %rax\npop %" reg "\nret\n.cfi_endproc\n.size " #name ", . - " #name)
KEEPER(keep_rbx, "rbx");
KEEPER(keep_rbp, "rbp");
KEEPER(keep_r12, "r12");
KEEPER(keep_r15, "r15");

static sem_t asked;

static void *waits_with(void *arg)
{
	uint64_t (**keep)(uint64_t *, sem_t *, int (*)(sem_t *), uint64_t) = arg;
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	give((*keep)(&on_its_way, &asked, sem_wait, REGISTERS_KEY));
	return NULL;
}

static void hide_with(uint64_t (*keep)(uint64_t *, sem_t *, int (*)(sem_t *), uint64_t), struct co *c)
{
	static uint64_t (*how)(uint64_t *, sem_t *, int (*)(sem_t *), uint64_t);
	how = keep;
	disguise(c);
	c = NULL;
	sem_init(&asked, 0, 0);
	co_thread(waits_with, &how);
	until_kept();
}

static void hide_rbx(struct co *c)
{
	hide_with(keep_rbx, c);
}

static void hide_rbp(struct co *c)
{
	hide_with(keep_rbp, c);
}

static void hide_r12(struct co *c)
{
	hide_with(keep_r12, c);
}

static void hide_r15(struct co *c)
{
	hide_with(keep_r15, c);
}

static struct co *ask_waiter(void)
{
	sem_post(&asked);
	pthread_barrier_wait(&both);
	return given;
}

// ---- in all of them, across a call

static pthread_barrier_t never, filled;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static pthread_t joined;

static void *waits_barrier(void *arg)
{
	pthread_barrier_wait(&filled);
	registers_fill(&on_its_way);
	pthread_barrier_wait(&never);
	return arg;
}

static void *waits_join(void *arg)
{
	pthread_barrier_wait(&filled);
	registers_fill(&on_its_way);
	pthread_join(joined, NULL);
	return arg;
}

static void *waits_sem(void *arg)
{
	pthread_barrier_wait(&filled);
	registers_fill(&on_its_way);
	sem_wait(&sem);
	return arg;
}

static void *waits_cond(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&filled);
	registers_fill(&on_its_way);
	pthread_cond_wait(&cond, &mutex);
	return arg;
}

static void *waits_lock(void *arg)
{
	pthread_barrier_wait(&filled);
	registers_fill(&on_its_way);
	pthread_mutex_lock(&held);
	return arg;
}

static void *waits_sleep(void *arg)
{
	struct timespec hours = {.tv_sec = 36000};
	pthread_barrier_wait(&filled);
	registers_fill(&on_its_way);
	nanosleep(&hours, NULL);
	return arg;
}

static void *waits_syscall(void *arg)
{
	static int zero;
	syscall(SYS_gettid); // the loader keeps all registers on the stack when a function is called first
	pthread_barrier_wait(&filled);
	registers_fill(&on_its_way);
	syscall(SYS_futex, &zero, 128, 0, NULL, NULL, 0);
	return arg;
}

static void hide_across_calls(struct co *c)
{
	static void *(*const waits[])(void *) = {waits_barrier, waits_join, waits_sem, waits_cond, waits_lock,
						 waits_sleep, waits_syscall};
	enum { WAITS = sizeof(waits) / sizeof(*waits) };
	disguise(c);
	c = NULL;
	pthread_barrier_init(&never, NULL, 2);
	pthread_barrier_init(&filled, NULL, WAITS + 1);
	sem_init(&sem, 0, 0);
	pthread_mutex_lock(&held);
	for (int i = 0; i < WAITS; i++) {
		pthread_t t = co_thread(waits[i], NULL);
		joined = i ? joined : t;
	}
	pthread_barrier_wait(&filled);
}

static struct co *find_nothing(void)
{
	abort();
}

const struct hide hides_registers[] = {
	{"vector", NULL, hide_xmm, ask},
	{"register_mm", NULL, hide_mm, ask},
	{"register_ymm", NULL, hide_ymm, ask},
	{"register_zmm", NULL, hide_zmm, ask},
	{"register_mask", NULL, hide_mask, ask},
	{"register_callback", NULL, hide_callback, ask},
	{"register_main", NULL, hide_main, ask},
	{"register_handler", NULL, hide_handler, ask},
	{"register_rbx", NULL, hide_rbx, ask_waiter},
	{"register_rbp", NULL, hide_rbp, ask_waiter},
	{"register_r12", NULL, hide_r12, ask_waiter},
	{"register_r15", NULL, hide_r15, ask_waiter},
	{"dead_across_calls", NULL, hide_across_calls, find_nothing},
	{NULL, NULL, NULL, NULL},
};

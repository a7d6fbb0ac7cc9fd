// SPDX-License-Identifier: MIT
//
// engines_error.c - longjmp as error handling, on one's own stack: no switch,
// wherever it happens. Out of signal handlers on alternate stacks; and the
// trick by which an alternate stack becomes a coroutine. Built with
// _FORTIFY_SOURCE as well, for "error" and "error_signal".
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "engines_worker.h"
#include "must.h"

static ucontext_t fibre_uc, uc_home;

// ---- error handling: on one's own stack

static NOINLINE void deep(int kind, sigjmp_buf env, int frames, volatile char *above)
{
	volatile char frame[64];
	frame[0] = *above;
	if (frames == 0)
		jump(kind, env, 1 + frame[0]);
	deep(kind, env, frames - 1, frame);
	frame[1] = 0; // no tail call
}

static NOINLINE void errors_once(int kind, int frames)
{
	sigjmp_buf env;
	volatile char zero = 0;
	if (SAVE(kind, env) == 0)
		deep(kind, env, frames, &zero);
}

static void errors(void)
{
	for (int i = 0; i < 4000; i++)
		errors_once(i % KINDS, i % 50);
}

static void some_errors(void)
{
	for (int k = 0; k < 40; k++) {
		for (int i = 0; i < 20; i++)
			errors_once(i % KINDS, i);
		swap(&fibre_uc, &uc_home);
	}
	switched();
}

static void error(void)
{
	errors();
	make(&fibre_uc, must_map(STACK), STACK, some_errors, &uc_home);
	for (int k = 0; k <= 40; k++) {
		swap(&uc_home, &fibre_uc);
		errors_once(k % KINDS, k);
	}
	errors();
	ended(1, 0);
}

// In QEMU's coroutines, whose own switches are jumps.
static void worker_errors(struct worker *w)
{
	for (int k = 0; k < 40; k++) {
		for (int i = 0; i < 20; i++)
			errors_once(i % KINDS, i);
		worker_yield(w);
	}
}

static void error_inside(void)
{
	struct worker *w[3];
	for (int i = 0; i < 3; i++)
		w[i] = worker_take(worker_errors);
	for (int k = 0; k <= 40; k++)
		for (int i = 0; i < 3; i++) {
			worker_enter(w[i], &main_worker);
			errors_once(k % KINDS, k);
		}
	ended(0, 0);
}

// ---- signal handlers on an alternate stack

static sigjmp_buf out;

static void alternate(char *stack, size_t bytes, void (*handler)(int))
{
	stack_t ss = {.ss_sp = stack, .ss_size = bytes};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	must(sigaltstack(&ss, NULL));
	must(sigaction(SIGUSR2, &sa, NULL));
}

static void jump_out(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static NOINLINE void out_once(void)
{
	if (sigsetjmp(out, 1) == 0)
		raise(SIGUSR2);
}

static void yields(struct worker *w)
{
	for (int i = 0; i < 3; i++)
		worker_yield(w);
}

static void outs_inside(struct worker *w)
{
	for (int i = 0; i < 20; i++) {
		out_once();
		worker_yield(w);
	}
}

// Out of the handler onto the stack that it interrupted: no switch.
static void error_signal(void)
{
	alternate(must_map(STACK), STACK, jump_out);
	for (int i = 0; i < 1000; i++)
		out_once();
}

static void error_signal_inside(void)
{
	alternate(must_map(STACK), STACK, jump_out);
	struct worker *w = worker_take(outs_inside);
	for (int k = 0; k <= 20; k++)
		worker_enter(w, &main_worker);
	ended(0, 0);
}

// Out of it onto another stack, away from the coroutine that it interrupted.
static sigjmp_buf away;

static void jump_home(int sig)
{
	(void)sig;
	switched();
	siglongjmp(away, 1);
}

static void is_interrupted(struct worker *w)
{
	(void)w;
	raise(SIGUSR2);
}

static NOINLINE void away_once(struct worker *w)
{
	if (sigsetjmp(away, 1) == 0)
		worker_enter(w, &main_worker);
}

static void signal_away(void)
{
	alternate(must_map(STACK), STACK, jump_home);
	for (int i = 0; i < 20; i++)
		away_once(worker_new(is_interrupted));
}

// Out of a call that blocks, as those have it who want a time limit. The signal
// strikes before the call, in it, or in what stands in front of it.
static struct {
	pthread_t who;
	volatile sig_atomic_t reading;
	bool stop;
	int pipe[2];
} blocked;

static void jump_out_of_read(int sig)
{
	(void)sig;
	if (!blocked.reading)
		return;
	blocked.reading = 0;
	siglongjmp(out, 1);
}

static void *disturb(void *arg)
{
	while (!__atomic_load_n(&blocked.stop, __ATOMIC_SEQ_CST)) {
		pthread_kill(blocked.who, SIGUSR1);
		sched_yield();
	}
	return arg;
}

static NOINLINE void read_once(void)
{
	char byte;
	if (sigsetjmp(out, 1) == 0) {
		blocked.reading = 1;
		must(read(blocked.pipe[0], &byte, 1));
		check(false); // nobody writes
	}
}

static void reads_inside(struct worker *w)
{
	for (int i = 0; i < 100; i++) {
		read_once();
		worker_yield(w);
	}
}

static void error_out_of_read(void)
{
	struct sigaction sa = {.sa_handler = jump_out_of_read};
	must(sigaction(SIGUSR1, &sa, NULL));
	must(pipe(blocked.pipe));
	blocked.who = pthread_self();
	struct worker *w = worker_take(reads_inside);
	pthread_t t = thread(disturb, NULL);
	for (int i = 0; i < 100; i++) {
		read_once();
		worker_enter(w, &main_worker);
	}
	__atomic_store_n(&blocked.stop, true, __ATOMIC_SEQ_CST);
	pthread_join(t, NULL);
	ended(0, 0);
}

// ---- a handler that switches away from what it interrupted; back in the
// handler, it returns there

static struct worker *interrupted;

static void switch_away(int sig)
{
	(void)sig;
	worker_yield(interrupted);
}

static void is_preempted(struct worker *w)
{
	for (int i = 0; i < 50; i++) {
		raise(SIGUSR1);
		worker_yield(w);
	}
}

static void handler_switch(void)
{
	struct sigaction sa = {.sa_handler = switch_away, .sa_flags = SA_NODEFER};
	struct worker *w[3];
	must(sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < 3; i++)
		w[i] = worker_take(is_preempted);
	for (int k = 0; k < 101; k++)
		for (int i = 0; i < 3; i++) {
			interrupted = w[i];
			worker_enter(w[i], &main_worker);
			check(w[i]->done == (k == 100));
		}
	ended(0, 0);
}

// ---- born on a signal's alternate stack

static __thread struct worker *born;
static __thread sigjmp_buf *parent;
static __thread volatile sig_atomic_t came;

static void birth(int sig)
{
	(void)sig;
	struct worker *w = born;
	came = 1;
	if (sigsetjmp(w->env, 0) == 0)
		return;
	worker_serve(w, parent);
}

static struct worker *worker_born(void (*fn)(struct worker *))
{
	struct worker *w = must_alloc(sizeof(*w));
	stack_t off = {.ss_flags = SS_DISABLE};
	sigjmp_buf back;
	made();
	w->fn = fn;
	w->stack = must_map(STACK);
	alternate(w->stack, STACK, birth);
	came = 0;
	born = w;
	pthread_kill(pthread_self(), SIGUSR2);
	check(came);
	must(sigaltstack(&off, NULL));
	parent = &back;
	if (sigsetjmp(back, 0) == 0)
		jump_away(2, w->env); // back into the handler that has returned
	return w;
}

static void born_all(void)
{
	struct worker *w[6];
	for (int i = 0; i < 6; i++)
		w[i] = worker_born(yields);
	for (int round = 0; round < 5; round++)
		for (int k = 0; k <= 3; k++)
			for (int i = 0; i < 6; i++)
				worker_enter(w[i], &main_worker);
}

static void born_here(void)
{
	born_all();
}

static void *born_thread(void *lock)
{
	pthread_mutex_lock(lock); // the handler is the process's
	born_all();
	pthread_mutex_unlock(lock);
	return NULL;
}

static void born_threads(void)
{
	pthread_t t[2];
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	for (int i = 0; i < 2; i++)
		t[i] = thread(born_thread, &lock);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void *go_on_there(void *w)
{
	worker_enter(w, &main_worker);
	return NULL;
}

static void born_migrate(void)
{
	struct worker *w = worker_born(yields); // again and again
	for (int i = 0; i < 20; i++) {
		worker_enter(w, &main_worker);
		pthread_join(thread(go_on_there, w), NULL);
	}
}

const struct engines_case cases[] = {
	{"error", error}, {"error_inside", error_inside}, {"error_signal", error_signal},
	{"error_signal_inside", error_signal_inside}, {"signal_away", signal_away}, {"born_here", born_here},
	{"born_threads", born_threads}, {"born_migrate", born_migrate},
	{"error_out_of_read", error_out_of_read}, {"handler_switch", handler_switch}, {NULL, NULL},
};

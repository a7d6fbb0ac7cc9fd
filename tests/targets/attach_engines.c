// SPDX-License-Identifier: MIT
//
// attach_engines.c - switches by functions of its own code (co_patched.c): a coroutine of each engine whenever it is
// told to, and threads as fast as they can.
//   attach_engines THREADS
// Says "ready"; then does what it reads: a letter each.
//   g  resumes the coroutine of each engine ROUNDS times: "coroutines N switches N"
//   q  ends: "balanced", 0, if no switch of anybody went astray
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { ENGINES_MOST = 16, ROUNDS = 100, THREADS_MOST = 64 };

extern const struct co_engine co_patched[];

struct worker {
	struct co *all[ENGINES_MOST];
	long said[ENGINES_MOST], rounds;
};

static unsigned engines;
static int over;

static void counts(void *arg)
{
	for (long *said = arg;; co_yield())
		++*said;
}

static struct worker *make(void)
{
	struct worker *w = must_alloc(sizeof(*w));
	for (unsigned i = 0; i < engines; i++) {
		w->said[i] = 0;
		co_engine = &co_patched[i];
		w->all[i] = co_new(counts, &w->said[i]);
	}
	w->rounds = 0;
	return w;
}

static void go(struct worker *w)
{
	for (unsigned i = 0; i < engines; i++)
		co_resume(w->all[i]);
	w->rounds++;
}

static int is_balanced(const struct worker *w)
{
	for (unsigned i = 0; i < engines; i++)
		if (w->said[i] != w->rounds)
			return 0;
	return 1;
}

static void *spin(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		go(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, good;
	pthread_t threads[THREADS_MOST];
	struct worker *own, *others[THREADS_MOST];
	while (co_patched[engines].name)
		engines++;
	setvbuf(stdout, NULL, _IOLBF, 0);
	own = make();
	go(own);
	for (int i = 0; i < n && i < THREADS_MOST; i++) {
		others[i] = make();
		threads[i] = co_thread(spin, others[i]);
	}
	puts("ready");
	for (char order = 0; order != 'q';) {
		struct pollfd input = {STDIN_FILENO, POLLIN, 0};
		if (poll(&input, 1, -1) != 1 || read(STDIN_FILENO, &order, 1) != 1 || order != 'g')
			continue;
		for (int i = 0; i < ROUNDS; i++)
			go(own);
		printf("coroutines %u switches %u\n", engines, 2 * ROUNDS * engines);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	good = is_balanced(own);
	for (int i = 0; i < n && i < THREADS_MOST; i++) {
		pthread_join(threads[i], NULL);
		good &= is_balanced(others[i]);
	}
	puts(good ? "balanced" : "astray");
	return !good;
}

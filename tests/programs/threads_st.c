// SPDX-License-Identifier: MIT
//
// threads_st.c N K: N threads of State Threads that pass a token round K times each; the library switches by
// code of its own. Prints who had it how often.
#include <st.h>
#include <stdio.h>
#include <stdlib.h>

static st_cond_t turn;
static int next, threads, rounds;
static long passed;

static void *body(void *arg)
{
	int me = (int)(long)arg;
	for (int i = 0; i < rounds; i++) {
		while (next != me)
			st_cond_wait(turn);
		next = (me + 1) % threads;
		passed++;
		st_cond_broadcast(turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	threads = argc > 1 ? atoi(argv[1]) : 2;
	rounds = argc > 2 ? atoi(argv[2]) : 10;
	st_thread_t *all = calloc((size_t)threads, sizeof(*all));
	if (!all || st_init() || !(turn = st_cond_new()))
		return 1;
	for (int i = 0; i < threads; i++)
		all[i] = st_thread_create(body, (void *)(long)i, 1, 0);
	for (int i = 0; i < threads; i++)
		st_thread_join(all[i], NULL);
	printf("passed %ld\n", passed);
}

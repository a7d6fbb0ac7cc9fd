// SPDX-License-Identifier: MIT
//
// attach_st.c - threads of State Threads, whose library switches by code of its own.
//   attach_st spin: they run all the time, and another thread waits for orders
//   attach_st: they run when they are told to; the library waits for that
// A round is MOST + 1 switches; to wait for an order, and to be woken, are two more.
// Says "ready"; then does what it reads: a letter each.
//   g  ROUNDS rounds more, or those that there were: "rounds N"
//   q  ends: "balanced", 0, if each thread had its turn in each round
#include <poll.h>
#include <pthread.h>
#include <st.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 5, ROUNDS = 100 };

static st_cond_t turn[MOST], end;
static long said[MOST], rounds;
static int over;

static void *body(void *arg)
{
	long me = (long)arg;
	for (;;) {
		st_cond_wait(turn[me]);
		said[me]++;
		st_cond_signal(me + 1 < MOST ? turn[me + 1] : end);
	}
	return NULL;
}

static void go(void)
{
	st_cond_signal(turn[0]);
	st_cond_wait(end);
	__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
}

// Letters on standard input, while the first thread spins.
static void *listen_to(void *arg)
{
	(void)arg;
	for (char order = 0; order != 'q';) {
		struct pollfd input = {STDIN_FILENO, POLLIN, 0};
		if (poll(&input, 1, -1) == 1 && read(STDIN_FILENO, &order, 1) == 1 && order == 'g')
			printf("rounds %ld\n", __atomic_load_n(&rounds, __ATOMIC_RELAXED));
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void wait_for_orders(void)
{
	for (char order = 0; order != 'q';) {
		struct pollfd input = {STDIN_FILENO, POLLIN, 0};
		if (st_poll(&input, 1, ST_UTIME_NO_TIMEOUT) != 1 || read(STDIN_FILENO, &order, 1) != 1 || order != 'g')
			continue;
		for (int i = 0; i < ROUNDS; i++)
			go();
		printf("rounds %ld\n", rounds);
	}
}

int main(int argc, char **argv)
{
	pthread_t listener;
	int good = 1;
	(void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (st_init() || !(end = st_cond_new()))
		return 1;
	for (long i = 0; i < MOST; i++)
		if (!(turn[i] = st_cond_new()) || !st_thread_create(body, (void *)i, 0, 0))
			return 1;
	st_usleep(0); // each waits for its turn
	go();
	if (argc > 1 && pthread_create(&listener, NULL, listen_to, NULL))
		return 1;
	puts("ready");
	while (argc > 1 && !__atomic_load_n(&over, __ATOMIC_RELAXED))
		go();
	if (argc == 1)
		wait_for_orders();
	for (int i = 0; i < MOST; i++)
		good &= said[i] == rounds;
	puts(good ? "balanced" : "astray");
	return !good;
}

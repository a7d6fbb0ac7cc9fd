// SPDX-License-Identifier: MIT
// expect: clean
//
// Users hand blocks to a thread, and sleep between; one of them has always something else to do. The
// thread takes very long for one block, and all of them wait for it, as never before. A coroutine that
// counts goes on.
#include <sys/eventfd.h>
#include <unistd.h>

#include "rhythm.h"

#define USERS 3
#define QUICK 60

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct co *users[USERS];
static int queue[USERS], nqueue, out[USERS], nout, served, waiting;

static void *compress(void *arg)
{
	for (int i = 0;; i++) {
		pthread_mutex_lock(&mutex);
		while (!nqueue || i >= QUICK) // the block that takes so long
			pthread_cond_wait(&more, &mutex);
		out[nout++] = queue[--nqueue];
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static NOINLINE void offload(int me)
{
	long before = now_ms();
	pthread_mutex_lock(&mutex);
	queue[nqueue++] = me;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&mutex);
	waiting++;
	co_yield ();
	waiting--;
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
	served++;
}

static void user(void *arg)
{
	int me = (int)(intptr_t)arg;
	users[me] = co_self();
	for (;;) {
		sleep_for(2 + me);
		while (waiting == USERS - 1 && served < QUICK)
			sleep_for(1);
		offload(me);
	}
}

static void counter(void *arg)
{
	(void)arg;
	for (;;)
		sleep_for(5);
}

// One at a time, and not right after another has run.
static NOINLINE void give_back(void)
{
	int who = -1;
	poll(NULL, 0, TICK_MS);
	pthread_mutex_lock(&mutex);
	if (nout)
		who = out[--nout];
	pthread_mutex_unlock(&mutex);
	if (who >= 0)
		co_resume(users[who]);
}

int main(void)
{
	bool said = false;
	start_all(user, USERS);
	co_start(counter, NULL);
	co_thread(compress, NULL);
	for (;;) {
		tick();
		give_back();
		if (waiting == USERS && served == QUICK && !stopped_ms)
			stopped_ms = now_ms();
		if (!said && stands_out()) {
			said = true;
			say("ready");
		}
	}
}

// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
// not: history lost, a rhythm is read from there
//
// Users hand blocks to a thread that compresses them, and wait for the result. The thread drops
// one that cannot be compressed, and says nothing: whoever waits for it is not resumed any more,
// at the very place where the others go on.
#include <sys/eventfd.h>
#include <unistd.h>

#include "rhythm.h"

#define USERS 3

struct job {
	struct job *next;
	int user, key;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct job *in, *out;
static struct co *users[USERS];
static int answered;

static NOINLINE struct job *take(void)
{
	pthread_mutex_lock(&mutex);
	while (!in)
		pthread_cond_wait(&more, &mutex);
	struct job *j = in;
	in = j->next;
	pthread_mutex_unlock(&mutex);
	return j;
}

static void *compress(void *arg)
{
	int fd = (int)(intptr_t)arg;
	uint64_t one = 1;
	for (;;) {
		struct job *j = take();
		poll(NULL, 0, TICK_MS);
		if (j->key < 0)
			continue;
		pthread_mutex_lock(&mutex);
		j->next = out;
		out = j;
		pthread_mutex_unlock(&mutex);
		must(write(fd, &one, sizeof(one)));
	}
	return NULL;
}

static NOINLINE void offload(int user, int key)
{
	struct job j = {.user = user, .key = key};
	long before = now_ms();
	pthread_mutex_lock(&mutex);
	struct job **last = &in;
	while (*last)
		last = &(*last)->next;
	*last = &j;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&mutex);
	if (key < 0)
		stopped_ms = before;
	co_yield(); // fault
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
	answered++;
}

static void user(void *arg)
{
	int i = (int)(intptr_t)arg;
	users[i] = co_self();
	for (int k = 0;; k++)
		offload(i, i == 1 && k == 20 ? -1 : k);
}

static void give_back(int fd)
{
	uint64_t n;
	must(read(fd, &n, sizeof(n)));
	pthread_mutex_lock(&mutex);
	struct job *j = out, *next;
	out = NULL;
	pthread_mutex_unlock(&mutex);
	for (; j; j = next) {
		next = j->next;
		co_resume(users[j->user]);
	}
}

int main(void)
{
	int done = (int)must(eventfd(0, EFD_CLOEXEC));
	bool said = false;
	co_thread(compress, (void *)(intptr_t)done);
	start_all(user, USERS);
	for (;;) {
		give_back(done);
		if (!said && stands_out()) {
			said = true;
			say("ready");
		}
	}
}

// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A semaphore guards a backend that serves two at a time. Both permits are with
// requests that wait for its answer, which takes long; four requests stand in the
// semaphore's queue, each linked on its own stack. Nothing is stuck but the backend.
#include "locks.h"

#define REQUESTS 6
#define AT_ONCE 2

static struct {
	unsigned permits;
	struct queue queue;
} gate = {.permits = AT_ONCE};
static int ep, answered, asked, backends[AT_ONCE][2];
static bool taken[AT_ONCE];

static void acquire(void)
{
	struct waiting w = {0};
	if (gate.permits)
		gate.permits--;
	else
		queue_wait(&gate.queue, &w);
}

static void release(void)
{
	if (!queue_grant(&gate.queue))
		gate.permits++;
}

static int free_backend(void)
{
	for (int i = 0; i < AT_ONCE; i++)
		if (!taken[i])
			return i;
	must(-1);
	return 0;
}

static void request(void *arg)
{
	char answer[32];
	(void)arg;
	acquire();
	int b = free_backend();
	taken[b] = true;
	must(write(backends[b][0], "ask", 3));
	asked++;
	must(co_read(ep, backends[b][0], answer, sizeof(answer)));
	taken[b] = false;
	answered++;
	release();
	ended++;
}

static NOINLINE void answer_one(int b)
{
	char question[8];
	int before = answered;
	must(read(backends[b][1], question, sizeof(question)));
	must(write(backends[b][1], "answer", 6));
	while (answered == before)
		turn_and_run(ep);
}

static NOINLINE void ask_all(void)
{
	for (int i = 0; i < REQUESTS; i++)
		co_start(request, NULL);
}

static NOINLINE void answer_all(void)
{
	for (int i = 0; i < REQUESTS; i++)
		answer_one(i % AT_ONCE);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < AT_ONCE; i++)
		pair("tcp", backends[i]);
	ask_all();
	answer_all();
	ask_all();
	must(asked == REQUESTS + AT_ONCE ? 0 : -1);
	serve_until_ordered(ep);
	answer_all();
	return all_resumed(2 * REQUESTS);
}

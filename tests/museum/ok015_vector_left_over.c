// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Two jobs share two locks, and take them in one order. One has both, and waits for
// the operator's answer, of which a queue knows; the other one waits for the first lock.
// It had the second lock before, and the first job waited for it: of that the vector
// of the second lock keeps a word in memory that is not in use any more.
#include "vector_lock.h"

static struct vector_lock tape, index_of;
static struct co *asked;
static int ep;

static void archive(void *arg)
{
	(void)arg;
	vector_lock(&tape);
	vector_lock(&index_of); // the other one has it
	asked = co_self();
	co_yield();
	vector_unlock(&index_of);
	vector_unlock(&tape);
	ended++;
}

static void search(void *arg)
{
	(void)arg;
	vector_lock(&index_of);
	let_others_run();
	vector_unlock(&index_of);
	vector_lock(&tape);
	vector_unlock(&tape);
	ended++;
}

static NOINLINE void answer(void)
{
	struct co *c = asked;
	asked = NULL;
	co_resume(c);
	run_ready();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	co_start(search, NULL);
	co_start(archive, NULL);
	run_ready();
	must(asked ? 0 : -1);
	serve_until_ordered(ep);
	answer();
	return all_resumed(2);
}

// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 3 coroutines in 1 finding
// end: timeout
//
// A batch of fetches shares a pool of two connections; who finds none free is queued in
// a ring of handles, as std::deque would have them. A fetch that is refused returns
// without giving its connection back. After two of those, three wait for good. All that
// held the connections have ended.
#include <stdlib.h>
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

#define FETCHES 8
#define CONNECTIONS 2

struct connection {
	int requests;
};

static struct pool {
	struct connection all[CONNECTIONS], *idle[CONNECTIONS];
	int nidle;
	struct co **queue; // a ring, on the heap
	unsigned head, tail, room;
} pool;

static struct co *runnable[4 * FETCHES];
static int ep, nrunnable, fetched, refused;

static struct connection *take(struct pool *p)
{
	while (p->nidle == 0) {
		p->queue[p->tail++ % p->room] = co_self();
		co_yield(); // fault
	}
	return p->idle[--p->nidle];
}

static void give_back(struct pool *p, struct connection *c)
{
	p->idle[p->nidle++] = c;
	if (p->head != p->tail)
		runnable[nrunnable++] = p->queue[p->head++ % p->room];
}

static bool request(struct connection *c, int number)
{
	c->requests++;
	runnable[nrunnable++] = co_self(); // it takes a turn
	co_yield();
	return number < 3 || number > 4;
}

static void fetch(void *arg)
{
	struct connection *c = take(&pool);
	if (!request(c, (int)(intptr_t)arg)) {
		refused++;
		return;
	}
	fetched++;
	give_back(&pool, c);
}

static NOINLINE void run_all(void)
{
	for (int i = 0; i < nrunnable; i++) {
		struct co *c = runnable[i];
		runnable[i] = NULL;
		co_resume(c);
	}
	nrunnable = 0;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pool.room = FETCHES;
	pool.queue = must_alloc(pool.room * sizeof(*pool.queue));
	for (int i = 0; i < CONNECTIONS; i++)
		pool.idle[pool.nidle++] = &pool.all[i];
	for (int i = 0; i < FETCHES; i++)
		co_start(fetch, (void *)(intptr_t)i);
	run_all();
	must(fetched == 3 && refused == 2 ? 0 : -1);
	say("ready");
	co_loop(ep);
}

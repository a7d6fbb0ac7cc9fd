// SPDX-License-Identifier: MIT
// expect: CTP028 suspect..likely, 2 coroutines
// end: kill
//
// Each worker thread has a set of its own; connections are dealt out in turn.
// When the load falls a worker ends, and its set, which others could poll, is
// left behind, with the readers of two connections in it.
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WORKERS 2
#define CONNS 4

struct worker {
	pthread_t thread;
	struct co_handler wake;
	int ep;
	bool retires;
};

struct conn {
	struct worker *worker;
	int fd, client;
};

static struct worker workers[WORKERS];
static struct conn *conns[CONNS];
static atomic_int requests, parked;

static void conn_main(void *arg)
{
	struct conn *c = arg;
	char request[64];
	while (co_read(c->worker->ep, c->fd, request, sizeof(request)) > 0) // fault
		atomic_fetch_add(&requests, 1);
}

static void on_wake(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	((struct worker *)((char *)h - offsetof(struct worker, wake)))->retires = true;
}

static void on_parked(struct co *c)
{
	(void)c;
	atomic_fetch_add(&parked, 1);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	while (!w->retires)
		co_turn(w->ep, -1);
	return NULL;
}

static NOINLINE void deal(int i)
{
	struct conn *c = conns[i] = must_alloc(sizeof(*c));
	int fds[2];
	pair("tcp", fds);
	*c = (struct conn){&workers[i % WORKERS], fds[0], fds[1]};
	co_start(conn_main, c);
}

static void retire(struct worker *w)
{
	must(write(w->wake.fd, &(uint64_t){1}, 8));
	pthread_join(w->thread, NULL);
}

static void ask(int i)
{
	must(write(conns[i]->client, "GET /", 5));
}

int main(void)
{
	co_parked = on_parked;
	for (int i = 0; i < WORKERS; i++) {
		workers[i].ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
		workers[i].wake = (struct co_handler){.fn = on_wake, .fd = (int)must(eventfd(0, EFD_CLOEXEC))};
		co_handle(workers[i].ep, &workers[i].wake, EPOLLIN);
	}
	for (int i = 0; i < CONNS; i++)
		deal(i);
	for (int i = 0; i < WORKERS; i++)
		workers[i].thread = co_thread(work, &workers[i]);
	for (int i = 0; i < CONNS; i++)
		ask(i);
	while (atomic_load(&requests) < CONNS || atomic_load(&parked) < 2 * CONNS)
		usleep(1000);
	retire(&workers[1]);
	for (int i = 0; i < CONNS; i++)
		ask(i);
	while (atomic_load(&requests) < CONNS + CONNS / 2)
		usleep(1000);
	say("ready");
	pthread_join(workers[0].thread, NULL);
}

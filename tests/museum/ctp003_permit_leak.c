// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 3 coroutines
//
// Uploads share a semaphore of two permits, made for one batch and kept by its
// uploads only. An upload that is refused by the store returns without giving
// its permit back. After two of those, three uploads wait for a permit that
// nobody has. The server listens on.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct semaphore {
	int permits;
	struct entry {
		struct entry *next;
		struct co *co;
	} *queue;
};

struct upload {
	struct semaphore *limit;
	int bytes, number;
};

static int ep, stored, refused, nqueue;
static struct co *run_queue[8];

static void acquire(struct semaphore *s)
{
	while (s->permits == 0) {
		struct entry me = {s->queue, co_self()};
		s->queue = &me;
		co_yield(); // fault
	}
	s->permits--;
}

static void release(struct semaphore *s)
{
	struct entry *e = s->queue;
	s->permits++;
	if (!e)
		return;
	s->queue = e->next;
	run_queue[nqueue++] = e->co;
}

static bool store(const struct upload *u)
{
	run_queue[nqueue++] = co_self(); // it takes a turn
	co_yield();
	return u->bytes < 1000;
}

static void upload(void *arg)
{
	struct upload u = *(struct upload *)arg;
	acquire(u.limit);
	if (!store(&u)) {
		refused++;
		return;
	}
	stored++;
	release(u.limit);
}

static NOINLINE void run_queued(void)
{
	while (nqueue > 0) {
		struct co *c = run_queue[--nqueue];
		run_queue[nqueue] = NULL;
		co_resume(c);
	}
}

static NOINLINE void batch(const int *bytes, int n)
{
	struct upload u = {.limit = must_alloc(sizeof(*u.limit))};
	u.limit->permits = 2;
	for (int i = 0; i < n; i++) {
		u.bytes = bytes[i];
		u.number = i;
		co_start(upload, &u);
	}
}

static void on_client(struct co_handler *listener, uint32_t events)
{
	(void)events;
	close(accept(listener->fd, NULL, NULL));
}

int main(void)
{
	static struct co_handler listener = {.fn = on_client};
	static const int small[] = {1, 2, 3}, large[] = {5000, 6000, 10, 20, 30};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	batch(small, 3);
	run_queued();
	must(stored == 3 ? 0 : -1);
	batch(large, 5);
	run_queued();
	must(stored == 3 && refused == 2 ? 0 : -1);
	say("ready");
	co_loop(ep);
}

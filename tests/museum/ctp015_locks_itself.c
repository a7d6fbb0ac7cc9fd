// SPDX-License-Identifier: MIT
// expect: CTP015 likely, 1 coroutine
//
// An import has a journal of its own, whose mutex is not recursive. It locks that for a
// batch, and a batch that is refused is noted in the journal: by a function that locks,
// too. It waits for itself. Nobody else knows the journal; the server goes on.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct mutex {
	struct co *owner;
	struct waiter {
		struct waiter *next;
		struct co *co;
	} *queue;
};

struct journal {
	struct mutex mutex;
	int entries;
};

static struct co_handler listener;
static int ep, imported;

static void lock(struct mutex *m)
{
	while (m->owner) {
		struct waiter me = {m->queue, co_self()};
		m->queue = &me;
		co_yield(); // fault
	}
	m->owner = co_self();
}

static void unlock(struct mutex *m)
{
	struct waiter *w = m->queue;
	m->owner = NULL;
	if (!w)
		return;
	m->queue = w->next;
	co_resume(w->co);
}

static NOINLINE void note_refused(struct journal *j)
{
	lock(&j->mutex);
	j->entries++;
	unlock(&j->mutex);
}

static NOINLINE void import_batch(struct journal *j, int size)
{
	lock(&j->mutex);
	if (size > 100)
		note_refused(j);
	else
		imported += size;
	unlock(&j->mutex);
}

static void import(void *arg)
{
	struct journal *j = must_alloc(sizeof(*j));
	(void)arg;
	import_batch(j, 40);
	import_batch(j, 400);
}

static void on_client(struct co_handler *h, uint32_t events)
{
	(void)events;
	close(accept(h->fd, NULL, NULL));
}

int main(void)
{
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fn = on_client;
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	co_start(import, NULL);
	must(imported == 40 ? 0 : -1);
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: CTP003 likely, 3 coroutines in 1 finding
//
// Writers share a segment, which has a mutex and is theirs alone. One of them finds its
// record too large, and returns without unlocking. The others are queued for good: the
// one who would let them go has ended. The server goes on.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WRITERS 3

struct mutex {
	struct co *owner;
	struct waiter {
		struct waiter *next;
		struct co *co;
	} *queue;
};

struct segment {
	struct mutex mutex;
	int records;
};

static struct co_handler listener;
static int ep, disks[WRITERS + 1][2], nwriters;

static void lock(struct mutex *m)
{
	struct waiter me = {m->queue, co_self()};
	if (m->owner) {
		m->queue = &me;
		while (m->owner != me.co)
			co_yield(); // fault
	}
	m->owner = co_self();
}

static void unlock(struct mutex *m)
{
	struct waiter *w = m->queue;
	m->owner = w ? w->co : NULL;
	if (!w)
		return;
	m->queue = w->next;
	co_resume(w->co);
}

static void append(struct segment *s, int disk)
{
	char size;
	lock(&s->mutex);
	must(co_read(ep, disk, &size, 1));
	if (size > 100)
		return;
	s->records++;
	unlock(&s->mutex);
}

static void writer(void *arg)
{
	int *disk = disks[nwriters++];
	pair("pipe", disk);
	append(arg, disk[0]);
}

static NOINLINE void begin(void)
{
	struct segment *s = must_alloc(sizeof(*s));
	for (int i = 0; i < WRITERS + 1; i++)
		co_start(writer, s);
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
	begin();
	must(write(disks[0][1], "z", 1));
	co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}

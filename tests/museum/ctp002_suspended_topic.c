// SPDX-License-Identifier: MIT
// expect: CTP002 likely, 2 coroutines
//
// Four workers share one set, edge-triggered. A thread of the administrator's
// suspends a topic: it unregisters its two subscribers' pipes. They stand in a
// table, and what comes in by the listener could resume them.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SUBSCRIBERS 4

static struct subscriber {
	int fd, feed;
	struct co *co;
} subscribers[SUBSCRIBERS];
static int ep, parked[2];

static void subscriber(void *arg)
{
	struct subscriber *s = arg;
	char message[64];
	co_watch(ep, s->fd, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		ssize_t n = read(s->fd, message, sizeof(message));
		if (n == 0)
			return;
		if (co_blocked(n))
			co_yield();
	}
}

static void on_parked(struct co *c)
{
	(void)c;
	must(write(parked[1], "", 1));
}

static NOINLINE void *suspend_topic(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i < 2 * SUBSCRIBERS; i++)
		must(read(parked[0], &byte, 1));
	for (int i = 0; i < 2; i++)
		must(epoll_ctl(ep, EPOLL_CTL_DEL, subscribers[i].fd, NULL)); // fault
	say("ready");
	return NULL;
}

static void on_client(struct co_handler *listener, uint32_t events)
{
	(void)events;
	close(accept(listener->fd, NULL, NULL));
}

int main(void)
{
	static struct co_handler listener = {.fn = on_client};
	pthread_t worker = 0;
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(parked));
	co_parked = on_parked;
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	for (int i = 0; i < SUBSCRIBERS; i++) {
		int fds[2];
		pair("pipe", fds);
		subscribers[i] = (struct subscriber){fds[0], fds[1], NULL};
		subscribers[i].co = co_new(subscriber, &subscribers[i]);
		co_resume(subscribers[i].co);
	}
	for (int i = 0; i < 4; i++)
		worker = co_loop_thread(&ep);
	co_thread(suspend_topic, NULL);
	for (int i = 0; i < SUBSCRIBERS; i++)
		must(write(subscribers[i].feed, "m", 1));
	pthread_join(worker, NULL);
}

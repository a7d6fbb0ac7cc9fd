// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// engine: both
//
// An acceptor that takes its listener out of the set when no descriptor is free, as it
// would be told of the waiting connection again and again, and sleeps until somebody
// leaves. The reaper of idle connections closes some, and does not know of it.
#include "few_descriptors.h"

#define FREE 2
#define CLIENTS 4

static struct conn {
	struct co *co;
	int fd;
	bool idle;
} conns[FREE];
static struct co *paused;
static int ep, listener, live, failed;

static void resume_acceptor(void)
{
	struct co *c = paused;
	paused = NULL;
	if (c)
		co_resume(c);
}

static void conn_main(void *arg)
{
	struct conn *c = arg;
	char buf[64];
	while (co_read(ep, c->fd, buf, sizeof(buf)) > 0)
		;
	close(c->fd);
	live--;
	if (!c->idle)
		resume_acceptor();
}

static NOINLINE void pause_accepting(void)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, listener, NULL));
	paused = co_self();
	failed++;
	co_yield(); // fault
	co_watch(ep, listener, EPOLLIN, co_self());
}

static void acceptor_main(void *arg)
{
	(void)arg;
	co_watch(ep, listener, EPOLLIN, co_self());
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			struct conn *c = &conns[live++];
			c->fd = fd;
			co_start(conn_main, c);
		} else if (errno == EMFILE) {
			pause_accepting();
		} else {
			co_yield();
		}
	}
}

static NOINLINE void reap_idle(struct conn *c)
{
	c->idle = true;
	must(shutdown(c->fd, SHUT_RDWR));
	int before = live;
	while (live == before)
		co_turn(ep, -1);
}

int main(void)
{
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	for (int i = 0; i < CLIENTS; i++)
		tcp_connect(port);
	leave_free(FREE);
	co_start(acceptor_main, NULL);
	while (!failed)
		co_turn(ep, -1);
	reap_idle(&conns[0]);
	say("ready");
	co_loop(ep);
}

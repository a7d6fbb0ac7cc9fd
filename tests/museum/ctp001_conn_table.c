// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// engine: both
// patched: slot slot_back struct saved
//
// The server keeps its connections in a table, with their coroutines, and the
// idle sweep closes the descriptors of two. The readers are lost as it stands,
// but what the next client brings about could walk the table and resume them:
// LIKELY, and the report names the table.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct conn {
	int fd;
	struct co *co;
} conns[4];
static int ep;

static void conn_reader(void *arg)
{
	struct conn *conn = arg;
	char buf[128];
	while (co_read(ep, conn->fd, buf, sizeof(buf)) > 0)
		;
}

static void on_client(struct co_handler *listener, uint32_t events)
{
	(void)events;
	close(accept(listener->fd, NULL, NULL)); // the table is full
}

static void idle_sweep(struct co_handler *h, uint32_t events)
{
	uint64_t ticks;
	(void)events;
	must(read(h->fd, &ticks, sizeof(ticks)));
	for (int i = 0; i < 2; i++)
		close(conns[i].fd); // fault
	say("ready");
}

static void on_accept(struct conn *conn)
{
	int fds[2];
	pair("unix", fds);
	conn->fd = fds[0];
	conn->co = co_new(conn_reader, conn);
	co_resume(conn->co);
}

int main(void)
{
	static struct co_handler timer = {.fn = idle_sweep}, listener = {.fn = on_client};
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	for (int i = 0; i < 4; i++)
		on_accept(&conns[i]);
	timer.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &timer, EPOLLIN);
	must(timerfd_settime(timer.fd, 0, &soon, NULL));
	co_loop(ep);
}

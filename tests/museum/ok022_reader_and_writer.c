// SPDX-License-Identifier: MIT
// expect: clean
//
// A reader and a writer share a socket and its registration for both directions;
// the loop resumes both at each event. What is the writer's is nothing to the
// reader, but it is somebody's.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2];
static struct co *reader, *writer;

static void conn_reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_blocked(read(fds[0], buf, sizeof(buf))))
		co_yield();
}

static void conn_writer(void *arg)
{
	static char block[4096];
	(void)arg;
	for (;;)
		if (co_blocked(write(fds[0], block, sizeof(block))))
			co_yield();
}

static void on_event(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
	co_resume(writer);
	co_resume(reader);
}

int main(void)
{
	static char sink[1 << 20];
	static struct co_handler handler = {.fn = on_event};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	handler.fd = fds[0];
	co_handle(ep, &handler, EPOLLIN | EPOLLOUT | EPOLLET);
	co_resume(reader = co_new(conn_reader, NULL));
	co_resume(writer = co_new(conn_writer, NULL));
	for (int i = 0; i < 300; i++) {
		must(read(fds[1], sink, sizeof(sink)));
		co_turn(ep, -1);
	}
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
//
// A dialler registers a connection with a handler of the loop, and waits in its
// mailbox for the next address to call: the connection is not what it waits for.
// The whole program is quiet when the loop drops the connection.
#include "pooled.h"

static struct co_handler handler;

static void on_data(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	must(read(h->fd, &byte, 1));
}

static void dialler(void *arg)
{
	(void)arg;
	handler = (struct co_handler){CO_HANDLER, on_data, conns[0][0]};
	co_handle(ep, &handler, EPOLLIN);
	for (;;)
		back_to_pool(); // the mailbox
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", conns[0]);
	co_start(dialler, NULL);
	must(write(conns[0][1], "!", 1));
	co_turn(ep, -1);
	close(conns[0][0]);
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
//
// A dialler arms a one-shot for a handler of the loop, which has its event once,
// and waits in its mailbox for the next address to call: the registration is not
// what it waits for. The whole program is quiet then.
#include "pooled.h"

static struct dial {
	struct co_handler handler;
	struct co *dialler; // whom the handler may tell
} dial;

static void on_data(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	must(read(h->fd, &byte, 1));
}

static void dialler(void *arg)
{
	(void)arg;
	dial.handler = (struct co_handler){CO_HANDLER, on_data, conns[0][0]};
	co_handle(ep, &dial.handler, EPOLLIN | EPOLLONESHOT);
	dial.dialler = co_self();
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
	say("ready");
	co_loop(ep);
}

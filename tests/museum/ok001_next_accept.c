// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// As ctp001_next_accept, and the next client comes, some turns later.
#include <sys/socket.h>

#include "late.h"

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
}

static void on_accept(struct co_handler *listener, uint32_t events)
{
	(void)events;
	close(accept(listener->fd, NULL, NULL));
	resume_all(); // the sweep at each new client
}

int main(void)
{
	static struct co_handler listener = {.fn = on_accept};
	int port;
	open_conns("pipe");
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	drop_conns();
	co_turn(ep, 10);
	close(tcp_connect(port));
	while (ended < CONNS)
		co_turn(ep, -1);
	say("swept");
}

// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
//
// Connections are closed now, and their readers resumed when the next client
// comes: the acceptor sweeps the table. Nobody knows whether one will.
#include <sys/socket.h>

#include "late.h"

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
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
	say("ready");
	while (ended < CONNS)
		co_turn(ep, -1);
	say("swept");
}

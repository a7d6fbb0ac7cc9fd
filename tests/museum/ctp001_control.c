// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
//
// An operator's connection is open. The command "k" would resume the readers
// of the connections that were closed; so far the operator has said nothing.
#include <sys/socket.h>

#include "late.h"

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
}

static void on_command(struct co_handler *control, uint32_t events)
{
	char command;
	(void)events;
	if (read(control->fd, &command, 1) == 1 && command == 'k')
		resume_all();
}

int main(void)
{
	static struct co_handler control = {.fn = on_command};
	int port, listener, client;
	open_conns("unix");
	listener = tcp_listen(&port);
	client = tcp_connect(port);
	control.fd = (int)must(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	co_handle(ep, &control, EPOLLIN);
	drop_conns();
	say("ready");
	while (ended < CONNS)
		co_turn(ep, -1);
	close(client);
	say("killed");
}

// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// As ctp001_control, and the operator gives the command.
#include <sys/socket.h>

#include "late.h"

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
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
	co_turn(ep, 10);
	must(write(client, "k", 1));
	while (ended < CONNS)
		co_turn(ep, -1);
	close(client);
	say("killed");
}

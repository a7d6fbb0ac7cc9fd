// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// As ctp001_by_process, and the supervisor gives the order.
#include <sys/wait.h>

#include "late.h"

static int orders[2], quit[2];

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
}

static void on_order(struct co_handler *h, uint32_t events)
{
	char order;
	(void)events;
	if (read(h->fd, &order, 1) == 1)
		resume_all();
}

// Another process: gives the order when it is told that all are closed.
static pid_t start_supervisor(void)
{
	char byte;
	pid_t pid = (pid_t)must(fork());
	if (pid != 0)
		return pid;
	close(quit[1]);
	if (read(quit[0], &byte, 1) == 1)
		must(write(orders[1], "s", 1));
	_exit(0);
}

int main(void)
{
	static struct co_handler h = {.fn = on_order};
	pid_t supervisor;
	pair("pipe", orders);
	must(pipe(quit));
	supervisor = start_supervisor();
	open_conns("pipe");
	h.fd = orders[0];
	co_handle(ep, &h, EPOLLIN);
	drop_conns();
	co_turn(ep, 10);
	must(write(quit[1], "", 1));
	while (ended < CONNS)
		co_turn(ep, -1);
	must(waitpid(supervisor, NULL, 0));
	say("swept");
}

// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
//
// A supervisor, another process, holds the other end of a pipe: at any time it
// can order the server to sweep what was closed.
#include <sys/wait.h>

#include "late.h"

static int orders[2], quit[2];

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
}

static void on_order(struct co_handler *h, uint32_t events)
{
	char order;
	(void)events;
	if (read(h->fd, &order, 1) == 1)
		resume_all();
}

// Another process: it could give the order at any time, and ends with us.
static pid_t start_supervisor(void)
{
	char byte;
	pid_t pid = (pid_t)must(fork());
	if (pid != 0)
		return pid;
	close(quit[1]);
	while (read(quit[0], &byte, 1) > 0)
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
	say("ready");
	while (ended < CONNS)
		co_turn(ep, -1);
	must(waitpid(supervisor, NULL, 0));
	say("swept");
}

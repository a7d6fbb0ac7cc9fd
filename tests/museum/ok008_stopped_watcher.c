// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A loop leaves the row of a watcher that was stopped until an event of it comes, and deletes it then. Two
// clients have sent their next requests while their sessions stand in line for the printer, where others were
// before them: they read those when they have had it.
#include "ordered.h"
#include "stopped.h"

static struct conn *line[3];
static int nline;

UNREAD void print(struct conn *c)
{
	line[nline++] = c;
	co_yield();
	ended++;
}

UNREAD void next(void)
{
	struct conn *c = line[0];
	memmove(line, line + 1, (size_t)--nline * sizeof(struct conn *));
	co_resume(c->co);
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char text[64];
	for (;;) {
		ssize_t n = read(c->fd, text, 6);
		if (co_blocked(n)) {
			start(number_of(c));
			c->waits = true;
			co_yield();
		} else if (n <= 0) {
			return;
		} else {
			c->got++;
			print(c);
		}
	}
}

UNREAD void take(int i)
{
	if (!conns[i].waits) {
		stop(i);
		return;
	}
	conns[i].waits = false;
	co_resume(conns[i].co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < 3; i++) {
		make_conn(i);
		conns[i].co = co_new(serve, &conns[i]);
		co_resume(conns[i].co);
		send_text(i, "PRINT\n");
		while (!conns[i].got)
			turn(-1, take);
		if (i == 0)
			next();
		else
			send_text(i, "PRINT\n");
	}
	say("ready");
	while (!ordered)
		turn(-1, take);
	while (nline)
		next();
	return all_resumed(5);
}

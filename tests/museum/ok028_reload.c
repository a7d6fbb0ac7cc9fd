// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGHUP
//
// A reload makes a new set: the rows of all connections move there, one by one,
// and the old set is closed. Twice it has been done before the connections went
// idle, and the order makes it happen once more.
#include "ordered.h"

#define CONNS 5

static struct conn {
	int fd, peer, served;
	struct co *co;
} conns[CONNS];
static int set, generation;

static void serve(void *arg)
{
	struct conn *c = arg;
	char buf[64];
	for (;;) {
		ssize_t n = read(c->fd, buf, sizeof(buf));
		if (n == 0)
			break;
		if (n > 0) {
			c->served++;
			continue;
		}
		co_wait(set, c->fd, EPOLLIN); // whichever it is now
	}
	ended++;
}

static NOINLINE void open_conn(struct conn *c)
{
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	c->co = co_new(serve, c);
	co_resume(c->co);
}

static NOINLINE void move(int from, int to, struct conn *c)
{
	co_watch(to, c->fd, EPOLLIN | EPOLLONESHOT, c->co);
	must(epoll_ctl(from, EPOLL_CTL_DEL, c->fd, NULL));
}

static NOINLINE void reload(void)
{
	int fresh = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++)
		move(set, fresh, &conns[i]);
	close(set);
	set = fresh;
	generation++;
}

static NOINLINE void exchange(void)
{
	for (int i = 0; i < CONNS; i++) {
		int before = conns[i].served;
		must(write(conns[i].peer, "request", 7));
		while (conns[i].served == before)
			co_turn(set, -1);
	}
}

static NOINLINE void hang_up(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].peer);
	while (ended < CONNS)
		co_turn(set, -1);
}

int main(void)
{
	set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGHUP);
	for (int i = 0; i < CONNS; i++)
		open_conn(&conns[i]);
	exchange();
	reload();
	exchange();
	reload();
	say("ready");
	while (!ordered)
		co_turn(set, -1);
	reload();
	exchange();
	hang_up();
	return all_resumed(CONNS);
}

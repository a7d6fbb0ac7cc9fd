// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A limit that is hit for the first time. Who sent too much is paused: it sleeps until its deadline, for
// longer than this program runs, and its one-shot registration is not armed meanwhile, though more has come.
// The loop counts down in short sleeps; another client goes on now and then.
#include "unread.h"

enum { PAUSE_TURNS = 1000000000 };
static struct sleeper {
	struct conn *c;
	unsigned long until;
} sleeper;
static unsigned long turns;

static NOINLINE void sleep_turns(struct conn *c, unsigned long n)
{
	sleeper.c = c;
	sleeper.until = turns + n;
	co_yield();
	sleeper.c = NULL;
}

static NOINLINE void wait_for(struct conn *c)
{
	watch_conn(number_of(c), EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
	c->waits = true;
	co_yield();
	c->waits = false;
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char part[4];
	for (;;) {
		ssize_t n = read(c->fd, part, sizeof(part));
		if (co_blocked(n)) {
			wait_for(c);
			continue;
		}
		if (n <= 0)
			return;
		c->got += (int)n;
		if (*part == 'X')
			sleep_turns(c, PAUSE_TURNS);
		must(write(c->fd, "ok", 2));
	}
}

static void resume_waiting(int i)
{
	if (conns[i].waits)
		resume_reader(i);
}

static void tick(void)
{
	if (++turns % 10 == 0)
		send_text(0, "PING");
	turn(100, resume_waiting);
	if (sleeper.c && turns >= sleeper.until)
		co_resume(sleeper.c->co);
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, serve, EPOLLIN | EPOLLONESHOT);
	send_text(1, "PINGXXXX");
	while (conns[1].got < 8 || conns[0].got < 8)
		tick();
	send_text(1, "PING");
	say("ready");
	for (;;)
		tick();
}

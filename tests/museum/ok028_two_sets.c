// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Two classes of connections, each with a set of its own: urgent ones are asked
// for first, without waiting, and then both sleep in a third set, of which the two
// are members. Neither is ever polled with a timeout by itself.
#include "ordered.h"

#define EACH 3

enum class { URGENT, BULK, CLASSES };

static struct conn {
	enum class class;
	int fd, peer, messages;
} conns[CLASSES * EACH];
static int sets[CLASSES], both;

static void reader(void *arg)
{
	struct conn *c = arg;
	char message[128];
	while (co_read(sets[c->class], c->fd, message, sizeof(message)) > 0)
		c->messages++;
	ended++;
}

static NOINLINE void make_sets(void)
{
	both = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CLASSES; i++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
		sets[i] = (int)must(epoll_create1(EPOLL_CLOEXEC));
		must(epoll_ctl(both, EPOLL_CTL_ADD, sets[i], &ev));
	}
}

// Sleeps until one of the sets has something, and serves the urgent one first.
static NOINLINE void turn(void)
{
	struct epoll_event ev[CLASSES];
	if (epoll_wait(both, ev, CLASSES, -1) < 1)
		return;
	for (int class = URGENT; class < CLASSES; class++)
		co_turn(sets[class], 0);
}

static NOINLINE void open_conn(struct conn *c, enum class class)
{
	int fds[2];
	pair(class == URGENT ? "unix" : "tcp", fds);
	*c = (struct conn){.class = class, .fd = fds[0], .peer = fds[1]};
	co_start(reader, c);
}

static NOINLINE void exchange(void)
{
	for (int i = CLASSES * EACH - 1; i >= 0; i--) {
		int before = conns[i].messages;
		must(write(conns[i].peer, "message", 7));
		while (conns[i].messages == before)
			turn();
	}
}

static NOINLINE void hang_up(void)
{
	for (int i = 0; i < CLASSES * EACH; i++)
		close(conns[i].peer);
	while (ended < CLASSES * EACH)
		turn();
}

int main(void)
{
	make_sets();
	take_orders(SIGUSR1);
	for (int i = 0; i < CLASSES * EACH; i++)
		open_conn(&conns[i], (enum class)(i % CLASSES));
	exchange();
	say("ready");
	while (!ordered)
		turn();
	exchange();
	hang_up();
	return all_resumed(CLASSES * EACH);
}

// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// Connections are closed at once, by whoever finds them broken, and put onto a
// list; only the next sweep resumes their readers and frees them. It comes every
// hour by the clock, has come twice so far, and is due at once when the order comes.
#include <sys/timerfd.h>

#include "ordered.h"

#define BROKEN 3
#define ROUNDS 2

struct conn {
	struct conn *next_broken;
	int fd, peer;
	struct co *reader;
};

static struct conn *broken;
static struct co_handler clock_of_sweeps;
static int ep, collected;

static void reader(void *arg)
{
	struct conn *c = arg;
	char buf[64];
	while (co_read(ep, c->fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE struct conn *open_conn(void)
{
	struct conn *c = must_alloc(sizeof(*c));
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	c->reader = co_new(reader, c);
	co_resume(c->reader);
	return c;
}

static NOINLINE void is_broken(struct conn *c)
{
	close(c->fd); // fault
	c->next_broken = broken;
	broken = c;
}

static NOINLINE void sweep(void)
{
	while (broken) {
		struct conn *c = broken;
		broken = c->next_broken;
		co_resume(c->reader);
		close(c->peer);
		free(c);
		collected++;
	}
}

static void on_clock(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	if (read(h->fd, &n, sizeof(n)) == sizeof(n))
		sweep();
}

static NOINLINE void due_in(long seconds, long ns)
{
	struct itimerspec at = {.it_value = {seconds, ns}};
	must(timerfd_settime(clock_of_sweeps.fd, 0, &at, NULL));
}

static NOINLINE void break_some(void)
{
	for (int i = 0; i < BROKEN; i++)
		is_broken(open_conn());
}

static NOINLINE void round_of(int number)
{
	due_in(0, 1000000);
	while (collected < number * BROKEN)
		co_turn(ep, -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	clock_of_sweeps.fn = on_clock;
	clock_of_sweeps.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &clock_of_sweeps, EPOLLIN);
	for (int i = 1; i <= ROUNDS; i++) {
		break_some();
		round_of(i);
	}
	break_some();
	due_in(3600, 0);
	serve_until_ordered(ep);
	round_of(ROUNDS + 1);
	return all_resumed((ROUNDS + 1) * BROKEN);
}

// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP002 suspect
// order: SIGUSR1
//
// Token buckets: who has used up its tokens is taken out of the set under its
// waiting reader, and put back when the bucket is filled again. That is what a
// timer does, which comes seldom; the operator's order fills the buckets at once.
#include <sys/timerfd.h>

#include "ordered.h"

#define CLIENTS 4
#define TOKENS 3
#define REFILL_S 3600

struct client {
	int fd, peer, tokens, lines;
	bool paused;
	struct co *reader;
};

static struct client clients[CLIENTS];
static struct co_handler refill;
static int ep;

static NOINLINE void pause_client(struct client *c)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL));
	c->paused = true;
}

static void client_reader(void *arg)
{
	struct client *c = arg;
	char line[32];
	while (co_read(ep, c->fd, line, 4) == 4) {
		c->lines++;
		c->tokens--;
	}
	ended++;
}

// After each turn of the loop: whoever has no tokens left pauses.
static NOINLINE void check_buckets(void)
{
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].tokens <= 0 && !clients[i].paused)
			pause_client(&clients[i]);
}

static NOINLINE void fill(struct client *c)
{
	c->tokens = TOKENS;
	if (!c->paused)
		return;
	c->paused = false;
	co_watch(ep, c->fd, EPOLLIN | EPOLLONESHOT, c->reader);
}

static void on_refill(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	if (read(h->fd, &n, sizeof(n)) == sizeof(n))
		for (int i = 0; i < CLIENTS; i++)
			fill(&clients[i]);
}

static NOINLINE void set_timer(int seconds, int ns)
{
	struct itimerspec t = {{REFILL_S, 0}, {seconds, ns}};
	must(timerfd_settime(refill.fd, 0, &t, NULL));
}

static NOINLINE void admit(struct client *c)
{
	int fds[2];
	pair("unix", fds);
	*c = (struct client){.fd = fds[0], .peer = fds[1], .tokens = TOKENS};
	c->reader = co_new(client_reader, c);
	co_resume(c->reader);
}

static NOINLINE void send_lines(int n, int upto)
{
	for (int i = 0; i < CLIENTS; i++)
		for (int j = 0; j < n; j++)
			must(write(clients[i].peer, "line", 4));
	for (int i = 0; i < CLIENTS; i++)
		while (clients[i].lines < upto) {
			co_turn(ep, -1);
			check_buckets();
		}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	refill.fn = on_refill;
	refill.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &refill, EPOLLIN);
	for (int i = 0; i < CLIENTS; i++)
		admit(&clients[i]);
	set_timer(0, 5000000); // the first time soon
	send_lines(TOKENS, TOKENS);
	while (clients[0].paused)
		co_turn(ep, -1);
	send_lines(TOKENS, 2 * TOKENS);
	serve_until_ordered(ep);
	set_timer(0, 1);
	while (clients[CLIENTS - 1].paused)
		co_turn(ep, -1);
	send_lines(1, 2 * TOKENS + 1);
	for (int i = 0; i < CLIENTS; i++)
		close(clients[i].peer);
	while (ended < CLIENTS)
		co_turn(ep, -1);
	return all_resumed(CLIENTS);
}

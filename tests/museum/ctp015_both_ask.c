// SPDX-License-Identifier: MIT
// expect: CTP015 likely, 2 coroutines
//
// Two services call each other, each over its own pair of pipes, in a server
// that still listens. One call at a time works; then both call at once, and each
// waits for the other's answer while the other's question lies unread.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct channel { int ask[2], answer[2]; };

static int ep, port;
static struct channel to_billing, to_stock;
static int turn;

static void call(struct channel *c)
{
	char byte = 'q';
	must(write(c->ask[1], &byte, 1));
	must(co_read(ep, c->answer[0], &byte, 1)); // fault
}

static void serve(struct channel *c)
{
	char byte;
	must(co_read(ep, c->ask[0], &byte, 1));
	must(write(c->answer[1], &byte, 1));
}

static void stock(void *arg)
{
	(void)arg;
	serve(&to_stock);
	call(&to_billing);
	turn++;
	call(&to_billing);
}

static void billing(void *arg)
{
	(void)arg;
	call(&to_stock);
	serve(&to_billing);
	turn++;
	call(&to_stock);
}

static void acceptor(void *arg)
{
	co_wait(ep, *(int *)arg, EPOLLIN);
}

int main(void)
{
	int *pipes[] = {to_billing.ask, to_billing.answer, to_stock.ask, to_stock.answer};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	int listener = tcp_listen(&port);
	for (int i = 0; i < 4; i++)
		pair("pipe", pipes[i]);
	co_start(acceptor, &listener);
	co_start(stock, NULL);
	co_start(billing, NULL);
	while (turn < 2)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: CTP015 likely, 3 coroutines in 1 finding
// expect: also CTP018
//
// Who ends an indexer joins its thread in a coroutine. The indexer has a loop of
// its own, in which it asks the archive for one block more; the archive is a
// coroutine of the loop that is blocked in the join, and cannot answer.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, own_ep, port, ask[2], answer[2], end[2], go[2];
static pthread_t thread;

static void archive(void *arg)
{
	char byte;
	(void)arg;
	for (;;) {
		must(co_read(ep, ask[0], &byte, 1));
		must(write(answer[1], &byte, 1));
	}
}

static NOINLINE void fetch(void)
{
	char byte = 'b';
	must(write(ask[1], &byte, 1));
	must(co_read(own_ep, answer[0], &byte, 1)); // fault
}

static void indexer(void *arg)
{
	char byte;
	(void)arg;
	fetch();
	must(write(end[1], "e", 1)); // it may be ended, but it has a last block to write
	must(co_read(own_ep, go[0], &byte, 1));
	say("ready");
	fetch();
}

static void *index_loop(void *arg)
{
	(void)arg;
	co_start(indexer, NULL);
	co_loop(own_ep);
}

static void supervisor(void *arg)
{
	char byte;
	(void)arg;
	must(co_read(ep, end[0], &byte, 1));
	must(write(go[1], "g", 1));
	pthread_join(thread, NULL); // fault
}

static void acceptor(void *arg)
{
	co_wait(ep, *(int *)arg, EPOLLIN);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	own_ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	int listener = tcp_listen(&port);
	pair("pipe", ask);
	pair("pipe", answer);
	pair("pipe", end);
	pair("pipe", go);
	co_start(acceptor, &listener);
	co_start(archive, NULL);
	co_start(supervisor, NULL);
	thread = co_thread(index_loop, NULL);
	co_loop(ep);
}

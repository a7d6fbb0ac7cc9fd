// SPDX-License-Identifier: MIT
// expect: CTP013 suspect, 60 coroutines
// end: exit
// engine: both
//
// For every request a coroutine is started that writes the audit once the
// request is done. Nobody tells it that the request is done.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { REQUESTS = 60 };

static int ep, requests[2], answers[2], served;

static void audit_writer(void *arg)
{
	(void)arg;
	co_yield(); // until the request is done
}

static NOINLINE void on_request(void)
{
	co_start(audit_writer, NULL); // fault
}

static void server(void *arg)
{
	char byte;
	(void)arg;
	for (;;) {
		co_wait(ep, requests[0], EPOLLIN);
		must(read(requests[0], &byte, 1));
		on_request();
		served++;
		must(write(answers[1], "", 1));
	}
}

static void *client(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i < REQUESTS; i++) {
		must(write(requests[1], "r", 1));
		must(read(answers[0], &byte, 1));
	}
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", requests);
	must(pipe(answers));
	co_start(server, NULL);
	pthread_t t = co_thread(client, NULL);
	while (served < REQUESTS)
		co_turn(ep, -1);
	pthread_join(t, NULL);
	return 0;
}

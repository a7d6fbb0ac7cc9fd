// SPDX-License-Identifier: MIT
// expect: CTP004 likely..proven, 1 coroutine
// engine: both
// patched: slot slot_back struct saved
//
// An edge-triggered connection; the server reads one request each time it is
// woken. The client sends two at once and waits for both answers: the second
// request lies in the socket, and makes no event any more.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, server_end, client_end;

static void serve(void *arg)
{
	char request[4];
	(void)arg;
	co_watch(ep, server_end, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield(); // fault
		if (read(server_end, request, sizeof(request)) <= 0)
			return;
		must(write(server_end, "ok\n", 3));
	}
}

static void client(void *arg)
{
	char answer[3];
	(void)arg;
	must(write(client_end, "GET1GET2", 8));
	for (int i = 0; i < 2; i++)
		co_read(ep, client_end, answer, sizeof(answer));
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	server_end = fds[0];
	client_end = fds[1];
	co_start(serve, NULL);
	co_start(client, NULL);
	must(co_turn(ep, -1) ? 0 : -1); // the server
	must(co_turn(ep, -1) ? 0 : -1); // the client has one answer
	say("ready");
	co_loop(ep);
}

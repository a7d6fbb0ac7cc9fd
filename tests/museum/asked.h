// SPDX-License-Identifier: MIT
//
// asked.h - a server of small requests and its clients, in one thread. A request is a letter, and so is its
// answer; session() is a coroutine for each connection.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rhythm.h"

#define TURN_MS 10

static int ep, listener, port;
static struct co *parked[SLEEPERS], *runnable[SLEEPERS];
static int nparked, nrunnable;

static void session(void *arg);

static void open_server(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
}

// A client; its session has begun.
static NOINLINE int dial(void)
{
	int client = tcp_connect(port);
	intptr_t fd = must(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	co_start(session, (void *)fd);
	__asm__ volatile("");
	return client;
}

static void turn(void)
{
	co_turn(ep, TURN_MS);
	while (nrunnable)
		co_resume(runnable[--nrunnable]);
}

static void ask(int client, char what)
{
	must(write(client, &what, 1));
}

static char answer_to(int client)
{
	char what;
	while (recv(client, &what, 1, MSG_DONTWAIT) != 1)
		turn();
	return what;
}

// Is longest_ms what an answer took at most?
RHYTHM void ask_and_hear(int client, char what)
{
	long before = now_ms();
	ask(client, what);
	answer_to(client);
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

// Until a runner takes it out of `parked`.
RHYTHM NOINLINE void park(void)
{
	parked[nparked++] = co_self();
	co_yield(); // fault
}

RHYTHM void unpark_first(void)
{
	runnable[nrunnable++] = parked[0];
	nparked--;
	for (int i = 0; i < nparked; i++)
		parked[i] = parked[i + 1];
}

// The loop goes on until it has been so for long enough, and after that.
RHYTHM _Noreturn void serve_for_good(long least_ms)
{
	bool said = false;
	stopped_ms = now_ms();
	for (;;) {
		turn();
		if (!said && stands_out() && now_ms() - stopped_ms > least_ms) {
			said = true;
			say("ready");
		}
	}
}

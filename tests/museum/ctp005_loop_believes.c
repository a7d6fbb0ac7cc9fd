// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 2 coroutines
//
// A message broker. A coroutine says what it wants and switches away; the loop
// registers that for it afterwards, one-shot, and skips what it believes to be
// armed already. It forgets to note that an event disarms a row. Messages have
// one size and are taken whole: no read ever ended in EAGAIN, the coroutine just
// waits before each.
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define CLIENTS 2
#define MESSAGE 16

struct client {
	ucontext_t context;
	int fd, peer;
	uint32_t wants, armed;
	bool known;
	int messages;
};

static struct client *clients[CLIENTS], *current;
static ucontext_t loop;
static int ep;

static void wait_for(struct client *c, uint32_t events)
{
	c->wants = events;
	swapcontext(&c->context, &loop); // fault
}

static void client_main(void)
{
	struct client *c = current;
	char message[MESSAGE];
	for (;;) {
		wait_for(c, EPOLLIN);
		if (recv(c->fd, message, MESSAGE, 0) != MESSAGE)
			return;
		c->messages++;
	}
}

static void arm(struct client *c)
{
	struct epoll_event ev = {.events = c->wants | EPOLLONESHOT, .data.ptr = c};
	if (c->armed == c->wants)
		return;
	must(epoll_ctl(ep, c->known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &ev));
	c->armed = c->wants;
	c->known = true;
}

static void run(struct client *c)
{
	current = c;
	swapcontext(&loop, &c->context);
	arm(c);
}

static void spawn(int i)
{
	struct client *c = clients[i] = must_alloc(sizeof(*c));
	int fds[2];
	pair("unix", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	must(getcontext(&c->context));
	c->context.uc_stack.ss_sp = must_map(32 << 10);
	c->context.uc_stack.ss_size = 32 << 10;
	c->context.uc_link = &loop;
	makecontext(&c->context, client_main, 0);
	run(c);
}

static void turn(int listener)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if (ev.data.ptr)
		run(ev.data.ptr);
	else
		close(accept(listener, NULL, NULL));
}

int main(void)
{
	static const char message[MESSAGE] = "PUBLISH weather";
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < CLIENTS; i++) {
		spawn(i);
		must(write(clients[i]->peer, message, MESSAGE));
		turn(listener);
		must(write(clients[i]->peer, message, MESSAGE));
	}
	say("ready");
	for (;;)
		turn(listener);
}

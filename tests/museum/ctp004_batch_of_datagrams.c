// SPDX-License-Identifier: MIT
// expect: CTP004 suspect..likely, 1 coroutine
//
// A statistics daemon takes datagrams four at a time by recvmmsg. The loop adds
// the row for its collector, edge-triggered, once that has switched away. Of six
// that came at once two are left: a batch that is full is taken for all there
// is, and the collector waits for an edge that came already.
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define BATCH 4

struct collector {
	ucontext_t context;
	int fd, sender;
	unsigned metrics, wakeups;
	bool registered;
	char packets[BATCH][64];
};

static ucontext_t loop;
static struct collector *collectors[2], *current;
static int ep;

static int receive(struct collector *c)
{
	struct mmsghdr messages[BATCH] = {0};
	struct iovec parts[BATCH];
	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){c->packets[i], sizeof(c->packets[i])};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	return recvmmsg(c->fd, messages, BATCH, MSG_DONTWAIT, NULL);
}

static void collect(void)
{
	struct collector *c = current;
	for (;;) {
		swapcontext(&c->context, &loop); // fault
		c->wakeups++;
		int n = receive(c);
		if (n > 0)
			c->metrics += (unsigned)n;
	}
}

static void run(struct collector *c)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.ptr = c};
	current = c;
	swapcontext(&loop, &c->context);
	if (!c->registered)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev));
	c->registered = true;
}

static struct collector *spawn(void)
{
	struct collector *c = must_alloc(sizeof(*c));
	int fds[2];
	pair("udp", fds);
	c->fd = fds[0];
	c->sender = fds[1];
	must(getcontext(&c->context));
	c->context.uc_stack.ss_sp = must_map(32 << 10);
	c->context.uc_stack.ss_size = 32 << 10;
	makecontext(&c->context, collect, 0);
	run(c);
	return c;
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
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < 2; i++)
		collectors[i] = spawn();
	for (int i = 0; i < 6; i++)
		must(send(collectors[0]->sender, "load:1|g", 8, 0));
	must(send(collectors[1]->sender, "load:1|g", 8, 0));
	while (collectors[0]->metrics < 4 || !collectors[1]->metrics)
		turn(listener);
	say("ready");
	for (;;)
		turn(listener);
}

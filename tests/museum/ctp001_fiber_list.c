// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// engine: fcontext
//
// Fibers on Boost.Context with a scheduler of their own: each fiber is a block
// on the heap in a linked list, edge-triggered and registered once. Eviction
// closes two fibers' sockets and leaves the fibers in the list: whoever walks
// it, at the next client, could wake them.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fcontext.h"
#include "must.h"

#define STACK (32 << 10)

struct fiber {
	struct fiber *next;
	fcontext_t at;
	int fd;
};
static struct fiber *fibers, *running;
static fcontext_t loop;
static int ep;

static void suspend(void)
{
	struct transfer t = jump_fcontext(loop, NULL);
	loop = t.from;
}

static void echo(struct transfer t)
{
	char buf[64];
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.ptr = running};
	int fd = running->fd;
	loop = t.from;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n > 0)
			must(write(fd, buf, (size_t)n));
		else
			suspend();
	}
}

static void resume(struct fiber *f)
{
	running = f;
	f->at = jump_fcontext(f->at, NULL).from;
}

static void spawn(int fd)
{
	struct fiber *f = must_alloc(sizeof(*f));
	char *stack = must_map(STACK);
	*f = (struct fiber){fibers, make_fcontext(stack + STACK, STACK, echo), fd};
	fibers = f;
	resume(f);
}

static void evict(int n)
{
	struct fiber *f = fibers;
	for (int i = 0; i < n; i++, f = f->next)
		close(f->fd); // fault
}

static void turn(int listener)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if (ev.data.ptr)
		resume(ev.data.ptr);
	else
		close(accept(listener, NULL, NULL));
}

int main(void)
{
	int port, fds[2], listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < 3; i++) {
		pair("unix", fds);
		spawn(fds[0]);
	}
	must(write(fds[1], "hello", 5));
	turn(listener);
	evict(2);
	say("ready");
	for (;;)
		turn(listener);
}

// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// expect: also CTP003
//
// A replication client connects again when its master hangs up. The new socket
// gets the old one's number, and so the row is believed to be there: it is only
// modified. The kernel knows that the old row went with the old socket; what it
// says of it, ENOENT, is not looked at.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

struct replica {
	ucontext_t context;
	int fd, registered, changes, connects;
};

static char stacks[2][32 << 10] __attribute__((aligned(16)));
static struct replica replicas[2], *current;
static ucontext_t loop;
static int ep, masters[2], ports[2];

static void wait_readable(struct replica *r)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = r};
	if (r->registered == r->fd) {
		epoll_ctl(ep, EPOLL_CTL_MOD, r->fd, &ev);
	} else {
		must(epoll_ctl(ep, EPOLL_CTL_ADD, r->fd, &ev));
		r->registered = r->fd;
	}
	swapcontext(&r->context, &loop); // fault
}

static void dial(struct replica *r, int port)
{
	r->fd = tcp_connect(port);
	r->connects++;
}

static void replicate(void)
{
	struct replica *r = current;
	char change[64];
	dial(r, ports[r - replicas]);
	for (;;) {
		ssize_t n = recv(r->fd, change, sizeof(change), MSG_DONTWAIT);
		if (n > 0) {
			r->changes++;
		} else if (n < 0 && errno == EAGAIN) {
			wait_readable(r);
		} else {
			close(r->fd);
			dial(r, ports[r - replicas]);
		}
	}
}

static void run(struct replica *r)
{
	current = r;
	swapcontext(&loop, &r->context);
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

static int answer(int i)
{
	int fd = (int)must(accept(masters[i], NULL, NULL));
	must(write(fd, "SET a 1", 7));
	return fd;
}

int main(void)
{
	int port, links[2], listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < 2; i++) {
		struct replica *r = &replicas[i];
		masters[i] = tcp_listen(&ports[i]);
		must(getcontext(&r->context));
		r->context.uc_stack.ss_sp = stacks[i];
		r->context.uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&r->context, replicate, 0);
		run(r);
		links[i] = answer(i);
		while (r->changes < 1)
			turn(listener);
	}
	close(links[0]);
	while (replicas[0].connects < 2)
		turn(listener);
	links[0] = answer(0);
	must(write(links[1], "SET b 2", 7));
	while (replicas[1].changes < 2)
		turn(listener);
	say("ready");
	for (;;)
		turn(listener);
}

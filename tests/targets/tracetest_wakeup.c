// SPDX-License-Identifier: MIT
//
// The demo server's lost wakeup as a synchronous test (ctp/tracetest.h). The server in small: a worker thread
// with an epoll set, and a coroutine per connection. With -DMENDED it resumes the coroutine whose peer hung
// up; without, it closes the connection and forgets the coroutine. C11 and C++11; run under ctp-run.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>
#include <ctp/event.h>
#include <ctp/tracetest.h>

// ------------------------------------------------------------------ the server, and its events

CTP_EVENT(demo, wait, (int, conn));
CTP_EVENT(demo, end, (int, conn));
CTP_EVENT(demo, polls);

struct conn {
	int number, fd;
	ucontext_t self, loop;
};

static struct conn *conns[2];
static int epoll, open_conns;
static char stacks[2][1 << 16];

static void serve(void)
{
	struct conn *c = conns[open_conns - 1];
	char line[64];
	for (;;) {
		ctp_event(demo, wait, c->number);
		swapcontext(&c->self, &c->loop);
		ssize_t n = read(c->fd, line, sizeof(line));
		if (n <= 0 || write(c->fd, line, (size_t)n) != n)
			break;
	}
	close(c->fd);
	open_conns--;
	ctp_event(demo, end, c->number);
	setcontext(&c->loop);
}

static void on_conn(struct conn *c, uint32_t events)
{
#ifdef MENDED
	(void)events;
#else
	if (events & EPOLLRDHUP) {
		close(c->fd);
		return;
	}
#endif
	swapcontext(&c->loop, &c->self);
}

static void *worker(void *arg)
{
	struct conn *c = (struct conn *)arg;
	struct epoll_event e;
	conns[open_conns++] = c;
	swapcontext(&c->loop, &c->self); // to its first wait
	for (;;) {
		ctp_event(demo, polls);
		if (epoll_wait(epoll, &e, 1, -1) == 1)
			on_conn((struct conn *)e.data.ptr, e.events);
	}
	return NULL;
}

static void start(struct conn *c, int fd)
{
	struct epoll_event e;
	pthread_t thread;
	c->number = 1;
	c->fd = fd;
	getcontext(&c->self);
	c->self.uc_stack.ss_sp = stacks[0];
	c->self.uc_stack.ss_size = sizeof(stacks[0]);
	makecontext(&c->self, serve, 0);
	epoll = epoll_create1(0);
	e.events = EPOLLIN | EPOLLRDHUP;
	e.data.ptr = c;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
	pthread_create(&thread, NULL, worker, c);
	pthread_detach(thread);
}

// ------------------------------------------------------------------ the test

static struct conn first;
static ctp_test t;

int main(void)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 2;
	ctp_test_begin(&t);
	CTP_STREAM(&t, "conn {conn}", "demo:wait demo:end");
	CTP_STREAM(&t, "worker", "demo:polls");
	start(&first, pair[0]);

	CTP_EXPECT(&t, "conn 1", "demo:wait");
	assert(open_conns == 1);
	CTP_GO(&t, "conn 1");
	CTP_EXPECT(&t, "worker", "demo:polls");
	close(pair[1]); // the peer hangs up
	CTP_GO(&t, "worker");
	CTP_EXPECT(&t, "conn 1", "demo:end"); // the coroutine hears of it
	assert(open_conns == 0);
	CTP_END(&t);
	puts("passed");
	return 0;
}

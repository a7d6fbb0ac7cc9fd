// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
//
// A download proxy with a budget of bytes for each window. Rows carry an index
// into a table of streams. When the budget is spent, the loop pauses all origins
// by a mask of nothing; when a window begins it restores them, all but the last:
// the count is one short. Its client's row stands on, as all clients' do.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define STREAMS 3
#define BUDGET 8
#define IS_CLIENT 0x80000000u
#define TICKER 0x7fffffffu
#define LISTENER 0x7ffffffeu

static struct stream {
	struct co *co;
	int client, browser, origin, mirror;
	unsigned long bytes;
	bool gone;
} streams[STREAMS];
static int ep, ticker, listener, nstreams, windows;
static long budget = BUDGET;
static bool paused;

static void set_row(int op, int fd, uint32_t events, uint32_t index)
{
	struct epoll_event ev = {.events = events, .data.u32 = index};
	must(epoll_ctl(ep, op, fd, &ev));
}

static void download(void *arg)
{
	struct stream *s = arg;
	char chunk[64];
	ssize_t n;
	set_row(EPOLL_CTL_ADD, s->origin, EPOLLIN, (uint32_t)(s - streams));
	while (!s->gone) {
		if (co_blocked(n = read(s->origin, chunk, sizeof(chunk)))) {
			co_yield();
			continue;
		}
		if (n <= 0)
			break;
		must(write(s->client, chunk, (size_t)n));
		s->bytes += (unsigned long)n;
		budget -= n;
	}
	close(s->origin);
}

static void pause_all(void)
{
	for (int i = 0; i < nstreams; i++)
		set_row(EPOLL_CTL_MOD, streams[i].origin, 0, (uint32_t)i); // fault
	paused = true;
}

static void new_window(void)
{
	uint64_t ticks;
	must(read(ticker, &ticks, sizeof(ticks)));
	budget = BUDGET;
	if (!paused)
		return;
	for (int i = 0; i < nstreams - 1; i++)
		set_row(EPOLL_CTL_MOD, streams[i].origin, EPOLLIN, (uint32_t)i);
	paused = false;
	if (++windows == 1)
		for (int i = 0; i < nstreams; i++)
			must(write(streams[i].mirror, "x", 1));
}

static NOINLINE void take_in(void)
{
	struct stream *s = &streams[nstreams];
	int fds[2];
	pair("tcp", fds);
	s->client = (int)must(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	s->origin = fds[0];
	s->mirror = fds[1];
	set_row(EPOLL_CTL_ADD, s->client, EPOLLIN | EPOLLRDHUP, IS_CLIENT | (uint32_t)nstreams++);
	s->co = co_new(download, s);
	co_resume(s->co);
}

static NOINLINE void on_event(uint32_t index)
{
	struct stream *s = &streams[index & ~IS_CLIENT];
	if (index == LISTENER) {
		take_in();
	} else if (index == TICKER) {
		new_window();
	} else {
		s->gone = index & IS_CLIENT;
		co_resume(s->co);
	}
}

static void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	on_event(ev.data.u32);
	if (budget <= 0 && !paused)
		pause_all();
}

int main(void)
{
	struct itimerspec every = {.it_value.tv_nsec = 30000000, .it_interval.tv_nsec = 30000000};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	set_row(EPOLL_CTL_ADD, listener, EPOLLIN, LISTENER);
	ticker = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	set_row(EPOLL_CTL_ADD, ticker, EPOLLIN, TICKER);
	for (int i = 0; i < STREAMS; i++)
		streams[i].browser = tcp_connect(port);
	while (nstreams < STREAMS)
		turn();
	must(timerfd_settime(ticker, 0, &every, NULL));
	must(write(streams[0].mirror, "0123456789", 10));
	while (windows == 0 || streams[0].bytes < 11 || streams[1].bytes < 1)
		turn();
	say("ready");
	for (;;)
		turn();
}

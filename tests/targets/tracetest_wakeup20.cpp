// SPDX-License-Identifier: MIT
//
// tracetest_wakeup.c with C++20 coroutines: the lost wakeup of the demo's server20.cpp as a synchronous test
// (ctp/tracetest.h). A coroutine has no stack of its own: its events come on the thread that resumes it, and its
// stream is told by a field. With -DMENDED the server resumes the coroutine whose peer hung up; without, it closes the
// connection and forgets the coroutine. Run under ctp-run.
#include <cassert>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <ctp/event.h>
#include <ctp/tracetest.h>

// ------------------------------------------------------------------ the server, and its events

CTP_EVENT(demo, wait, (int, conn));
CTP_EVENT(demo, end, (int, conn));
CTP_EVENT(demo, polls);

static int open_conns;

struct connection { // starts at once, and owns itself
	struct promise_type {
		connection get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

// What a registration's data points to: it lies in the frame of the coroutine that waits.
struct readable {
	int ep, fd;
	std::coroutine_handle<> waiter = nullptr;

	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h)
	{
		epoll_event ev = {};
		ev.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
		ev.data.ptr = this;
		waiter = h;
		if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev) != 0)
			epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	}
	void await_resume() {}
};

static connection serve(int ep, int number, int fd)
{
	char line[64];
	for (;;) {
		ctp_event(demo, wait, number);
		co_await readable{ep, fd};
		ssize_t n = read(fd, line, sizeof(line));
		if (n <= 0 || write(fd, line, (size_t)n) != n)
			break;
	}
	close(fd);
	open_conns--;
	ctp_event(demo, end, number);
}

static void on_event(readable *r, uint32_t events)
{
#ifdef MENDED
	(void)events;
#else
	if (events & EPOLLRDHUP) {
		close(r->fd);
		return;
	}
#endif
	r->waiter.resume();
}

static void worker(int fd)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);
	epoll_event ev;
	open_conns++;
	serve(ep, 1, fd); // to its first wait
	for (;;) {
		ctp_event(demo, polls);
		if (epoll_wait(ep, &ev, 1, -1) == 1)
			on_event((readable *)ev.data.ptr, ev.events);
	}
}

// ------------------------------------------------------------------ the test

static ctp_test t;

int main()
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 2;
	ctp_test_begin(&t);
	CTP_STREAM(&t, "conn {conn}", "demo:wait demo:end");
	CTP_STREAM(&t, "worker", "demo:polls");
	std::thread(worker, pair[0]).detach();

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

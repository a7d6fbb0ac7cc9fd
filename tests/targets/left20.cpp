// SPDX-License-Identifier: MIT
//
// C++20 coroutines whose handles are gone while words of before still lie about: in the part of a queue from which
// they were taken, beside a descriptor that another coroutine waits for; and what looks like that and is healthy.
// `left20 CASE [reads]` makes three of them, says "ready", and sleeps; `reads`: a thread sleeps in recv meanwhile.
// tests/e2e/check_left20.py says what may be said.
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cases20.h"

using handle = std::coroutine_handle<>;

struct detached { // starts at once, and owns itself
	struct promise_type {
		detached get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

static int ep = epoll_create1(EPOLL_CLOEXEC);
static const int count = 3;
static int resumed;

struct event_wait { // the registration leads to the frame
	int fd;
	handle h;
	bool await_ready() { return false; }
	void await_suspend(handle x)
	{
		h = x;
		epoll_event e = {};
		e.events = EPOLLIN | EPOLLONESHOT;
		e.data.ptr = this;
		if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e))
			epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
	}
	void await_resume() {}
};

// ------------------------------------------------------------------- a queue of those that are ready

static std::deque<handle> queue;
static handle slot; // an event that has room for one

template <class F> struct hands {
	F put;
	bool await_ready() { return false; }
	void await_suspend(handle h) { put(h); }
	void await_resume() {}
};
template <class F> hands(F) -> hands<F>;

AWAY static void run_queue()
{
	while (!queue.empty()) {
		handle h = queue.front();
		queue.pop_front();
		h.resume();
	}
}

static detached queued_then_waits()
{
	co_await hands{[](handle h) { queue.push_back(h); }};
	co_await hands{[](handle h) { slot = h; }}; // fault: somebody may wait already
	resumed++;
}

// Each went through the queue, which still has its word where it has no element now.
AWAY static void overwritten_after_queue()
{
	for (int i = 0; i < count + 1; i++)
		queued_then_waits();
	run_queue();
	std::exchange(slot, nullptr).resume();
}

// The same words, and the queue holds them.
static detached queued_twice()
{
	co_await hands{[](handle h) { queue.push_back(h); }};
	co_await hands{[](handle h) { queue.push_back(h); }};
	resumed++;
}

AWAY static void queued_again()
{
	for (int i = 0; i < count; i++)
		queued_twice();
	for (int i = 0; i < count; i++) {
		handle h = queue.front();
		queue.pop_front();
		h.resume();
	}
}

// The queue is one of them whose first part is full: those that wait are in the next one.
AWAY static void queued_far_behind()
{
	for (int i = 0; i < 62; i++) {
		queue.push_back(std::noop_coroutine());
		queue.pop_front();
	}
	queued_again();
}

static std::vector<handle> list;

static detached listed()
{
	co_await hands{[](handle h) { list.push_back(h); }};
	co_await hands{[](handle h) { slot = h; }}; // fault
	resumed++;
}

// A vector from which the last was taken: its words are behind the end.
AWAY static void overwritten_after_vector()
{
	for (int i = 0; i < count + 1; i++)
		listed();
	while (!list.empty()) {
		handle h = list.back();
		list.pop_back();
		h.resume();
	}
	std::exchange(slot, nullptr).resume();
}

// What looks like a vector is an array with a place in it: what lies behind is next.
static handle *turns_begin, *turns_next, *turns_end;

static detached in_turn()
{
	co_await hands{[](handle h) { *turns_next++ = h; }};
	resumed++;
}

AWAY static void in_turns()
{
	turns_begin = turns_next = (handle *)malloc(count * sizeof(handle));
	turns_end = turns_begin + count;
	for (int i = 0; i < count; i++)
		in_turn();
	turns_next = turns_begin;
}

// ------------------------------------------------------------------- lost before it was kept

static detached keeper(int fd) // waits for the descriptor that the other one knows, too
{
	co_await event_wait{fd, nullptr};
}

static detached asks(int fd)
{
	co_await hands{[fd](handle) { (void)fd; }}; // fault: nobody has taken the handle
	if (write(fd, "!", 1) < 0)
		abort();
}

AWAY static void lost_beside_keeper()
{
	for (int i = 0; i < count; i++) {
		int fd = eventfd(0, EFD_CLOEXEC);
		keeper(fd);
		asks(fd);
	}
}

static const struct {
	const char *name;
	void (*make)();
} cases[] = {
	{"overwritten_after_queue", overwritten_after_queue},
	{"overwritten_after_vector", overwritten_after_vector},
	{"queued_again", queued_again},
	{"queued_far_behind", queued_far_behind},
	{"in_turns", in_turns},
	{"lost_beside_keeper", lost_beside_keeper},
};

// As long as nobody writes: no call that waits for readiness is on its stack.
static void read_for_good()
{
	static int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	std::thread([] {
		char c;
		if (recv(pair[0], &c, 1, 0) < 1)
			printf("recv was interrupted\n");
	}).detach();
}

int main(int argc, char **argv)
{
	const auto &made = case_of(cases, argc > 1 ? argv[1] : "");
	keep_a_block();
	listen_in(ep);
	if (argc > 2 && std::string(argv[2]) == "reads")
		read_for_good();
	made.make();
	overwrite_stack();
	say_ready();
	for (;;) {
		epoll_event e;
		if (epoll_wait(ep, &e, 1, -1) == 1)
			((event_wait *)e.data.ptr)->h.resume();
	}
}

// SPDX-License-Identifier: MIT
//
// C++20 coroutines that the program can resume, and whose handles it keeps in a form that nobody searches for: that
// nothing leads to them proves nothing, whatever is known of coroutines of another kind.
// `stackless_disguised CASE` makes three of them, says "ready", and sleeps. tests/e2e/check_stackless.py says what
// may be said.
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
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

struct owned { // starts when its owner says so, and is his
	struct promise_type {
		owned get_return_object() { return owned{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	handle h;
	explicit owned(handle h) : h(h) {}
	owned(owned &&o) noexcept : h(std::exchange(o.h, nullptr)) {}
	~owned()
	{
		if (h)
			h.destroy();
	}
};

template <class F> struct hands { // the handle goes where F puts it
	F put;
	bool await_ready() { return false; }
	void await_suspend(handle h) { put(h); }
	void await_resume() {}
};
template <class F> hands(F) -> hands<F>;

static int ep = epoll_create1(EPOLL_CLOEXEC);
static const int count = 3;

static void add(int fd, void *data)
{
	epoll_event e = {};
	e.events = EPOLLIN | EPOLLONESHOT;
	e.data.ptr = data;
	if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e))
		epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
}

static char digits[count][16];
static std::vector<uint64_t> table;
static uint64_t key = (uint64_t)std::random_device()() << 32 | std::random_device()();

AWAY static void write_digits(int n, handle h)
{
	for (int i = 0; i < 9; i++)
		digits[n][i] = (char)(40 + ((uintptr_t)h.address() >> 6 * i & 63));
}

static detached approved(int n)
{
	co_await hands{[n](handle h) { write_digits(n, h); }};
	write_digits(n, nullptr);
}

static detached in_table()
{
	co_await hands{[](handle h) { table.push_back((uintptr_t)h.address() ^ key); }};
	puts("went on");
}

AWAY static void as_digits()
{
	for (int i = 0; i < count; i++)
		approved(i);
}

AWAY static void xored()
{
	for (int i = 0; i < count; i++)
		in_table();
}

static detached ticks(int fd)
{
	for (;;)
		co_await hands{[fd](handle h) { add(fd, h.address()); }};
}

// Others are kept by the kernel, as they are.
AWAY static void beside_registered()
{
	as_digits();
	for (int i = 0; i < count; i++)
		ticks(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

static std::vector<owned> all;

static owned idle()
{
	co_await std::suspend_always{};
}

// Others have an owner.
AWAY static void beside_owned()
{
	xored();
	for (int i = 0; i < count; i++) {
		all.push_back(idle());
		all.back().h.resume();
	}
}

static int ends[count][2];

static detached request(int n)
{
	char b[8];
	int fd = ends[n][0];
	co_await hands{[fd](handle h) { add(fd, h.address()); }};
	if (read(fd, b, sizeof(b)) < 0)
		abort();
	co_await hands{[n](handle h) { write_digits(n, h); }};
	write_digits(n, nullptr);
}

AWAY static void turn()
{
	epoll_event e;
	if (epoll_wait(ep, &e, 1, -1) == 1)
		handle::from_address(e.data.ptr).resume();
}

// A registration led to each before; then the client went, and the descriptor was closed while it waits for something
// else.
AWAY static void registered_before()
{
	for (int i = 0; i < count; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends[i]))
			abort();
		request(i);
	}
	for (int i = 0; i < count; i++) {
		if (write(ends[i][1], "x", 1) != 1)
			abort();
		turn();
	}
	for (int i = 0; i < count; i++)
		close(ends[i][0]);
}

// Readers that the program finds by their descriptor's number; in digits.
static int reader_of[64];

static detached reader(int n)
{
	char b[8];
	int fd = ends[n][0];
	for (;;) {
		co_await hands{[n](handle h) { write_digits(n, h); }};
		if (read(fd, b, sizeof(b)) < 0)
			puts("went on");
	}
}

static handle from_digits(int n)
{
	uintptr_t at = 0;
	for (int i = 0; i < 9; i++)
		at |= (uintptr_t)(digits[n][i] - 40) << 6 * i;
	return handle::from_address((void *)at);
}

AWAY static void make_readers()
{
	for (int i = 0; i < count; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends[i]))
			abort();
		reader_of[ends[i][0]] = i;
		add(ends[i][0], (void *)(uintptr_t)ends[i][0]);
		reader(i);
	}
}

AWAY static void by_number()
{
	make_readers();
}

// The first one's is closed: the others may get their events.
AWAY static void by_number_closed()
{
	make_readers();
	close(ends[0][0]);
}

// What was resumed last is noted in a ring, and stays there while it waits again.
static handle ring[count - 1];

AWAY static void serve()
{
	static unsigned at;
	epoll_event e;
	if (epoll_wait(ep, &e, 1, -1) != 1)
		abort();
	int fd = (int)e.data.u64, n = reader_of[fd];
	ring[at++ % (count - 1)] = from_digits(n);
	ring[(at - 1) % (count - 1)].resume();
	add(fd, (void *)(uintptr_t)fd);
}

AWAY static void ring_of_resumed()
{
	make_readers();
	for (int i = 0; i < count; i++) {
		if (write(ends[i][1], "x", 1) != 1)
			abort();
		serve();
	}
	close(ends[0][0]);
}

// Lost coroutines, each behind a block that is full: its end is two words before the frame.
static std::vector<std::vector<uint64_t>> full;
static std::vector<handle> others;

static detached behind(int *lost)
{
	co_await hands{[lost](handle h) {
		if ((char *)h.address() - (char *)&*full.back().end() == 16)
			++*lost;
		else
			others.push_back(h);
	}};
	puts("went on");
}

AWAY static void behind_full_block()
{
	int lost = 0;
	full.reserve(1000);
	others.reserve(1000);
	while (lost < count && full.size() < 1000) {
		full.emplace_back(6);
		behind(&lost);
	}
}

// Waiters in a list, which nobody resumes, while a timer goes on.
static std::vector<handle> waiters;

static detached waits_in_list()
{
	co_await hands{[](handle h) { waiters.push_back(h); }};
}

static detached timed(int fd)
{
	uint64_t expired;
	for (;;) {
		co_await hands{[fd](handle h) { add(fd, h.address()); }};
		if (read(fd, &expired, sizeof(expired)) < 0)
			abort();
	}
}

AWAY static void in_list_beside_timer()
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	itimerspec t = {{0, 200000000}, {0, 200000000}};
	timerfd_settime(fd, 0, &t, nullptr);
	for (int i = 0; i < count; i++)
		waits_in_list();
	timed(fd);
}

// They wait for a turn that nobody gives them, awaited by who holds a descriptor of which an event may come.
struct lazy { // starts when it is awaited
	struct promise_type {
		struct back {
			bool await_ready() noexcept { return false; }
			handle await_suspend(std::coroutine_handle<promise_type> h) noexcept { return h.promise().next; }
			void await_resume() noexcept {}
		};
		handle next;
		lazy get_return_object() { return lazy{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		back final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	explicit lazy(std::coroutine_handle<promise_type> h) : h(h) {}
	lazy(lazy &&o) noexcept : h(std::exchange(o.h, nullptr)) {}
	~lazy()
	{
		if (h)
			h.destroy();
	}
	bool await_ready() { return false; }
	handle await_suspend(handle next)
	{
		h.promise().next = next;
		return h;
	}
	void await_resume() {}
};

static lazy turn(int fd)
{
	co_await hands{[](handle h) { waiters.push_back(h); }};
	if (write(fd, "!", 1) < 0)
		abort();
}

static detached serves(int fd)
{
	co_await turn(fd);
	close(fd);
}

AWAY static void turns()
{
	for (int i = 0; i < count; i++) {
		int fd = eventfd(0, EFD_CLOEXEC);
		add(fd, nullptr);
		serves(fd);
	}
}

static const struct {
	const char *name;
	void (*make)();
} cases[] = {
	{"as_digits", as_digits},
	{"xored", xored},
	{"beside_registered", beside_registered},
	{"beside_owned", beside_owned},
	{"registered_before", registered_before},
	{"by_number", by_number},
	{"by_number_closed", by_number_closed},
	{"ring_of_resumed", ring_of_resumed},
	{"behind_full_block", behind_full_block},
	{"in_list_beside_timer", in_list_beside_timer},
	{"turns", turns},
};

int main(int argc, char **argv)
{
	const auto &made = case_of(cases, argc > 1 ? argv[1] : "");
	keep_a_block();
	listen_in(ep);
	made.make();
	overwrite_stack();
	say_ready();
	for (;;)
		turn();
}

// SPDX-License-Identifier: MIT
//
// A C++20 coroutine that tells of itself by ctp/coroutine.hpp (-DBARE: does not), resumed and suspended in turn.
// An event is one of the two.
//	told COROUTINES EVENTS [HOW]       makes so many events
//	told cost COROUTINES EVENTS [HOW]  what one takes, in ns, least of 50 turns; and a reading of the clock
// HOW: places: at two co_awaits in turn; waits: for a descriptor.
#include <coroutine>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/eventfd.h>

#include "ticks.h"

#ifndef BARE
#include <ctp/coroutine.hpp>
#endif

struct task {
#ifdef BARE
	struct promise_type {
		auto initial_suspend() noexcept { return std::suspend_always{}; }
		auto final_suspend() noexcept { return std::suspend_always{}; }
#else
	struct promise_type : ctp::promise<promise_type> {
		auto initial_suspend() noexcept { return ctp_initial(std::suspend_always{}); }
		auto final_suspend() noexcept { return ctp_final(std::suspend_always{}); }
#endif
		task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		void return_void() {}
		void unhandled_exception() { std::abort(); }
	};
	std::coroutine_handle<promise_type> h;
};

static volatile long turns;

struct readable : std::suspend_always {
	int fd;
	explicit readable(int n) : fd(n) {}
#ifndef BARE
	ctp::wait ctp_wait() const noexcept { return {CTP_REASON_READ, fd}; }
#endif
};

static task forever()
{
	for (;;) {
		turns = turns + 1;
		co_await std::suspend_always{};
	}
}

static task at_places()
{
	for (;;) {
		turns = turns + 1;
		co_await std::suspend_always{};
		turns = turns + 1;
		co_await std::suspend_always{};
	}
}

static task waiting(int fd)
{
	for (;;) {
		turns = turns + 1;
		co_await readable(fd);
	}
}

static std::vector<std::coroutine_handle<>> all;

static __attribute__((noinline)) void run(long events)
{
	static std::size_t at;
	for (long i = 0; i < events; i += 2) {
		all[at].resume();
		at = at + 1 < all.size() ? at + 1 : 0;
	}
}

int main(int argc, char **argv)
{
	bool cost = argc > 1 && !std::strcmp(argv[1], "cost");
	if (argc < 3 + cost)
		return 2;
	const char *how = argv[argc - 1];
	for (long n = std::atol(argv[1 + cost]); n > 0; n--)
		all.push_back((!std::strcmp(how, "places") ? at_places() : !std::strcmp(how, "waits") ? waiting(eventfd(0, EFD_NONBLOCK)) : forever()).h);
	run(4 * static_cast<long>(all.size()));
	if (cost)
		print_cost(run, std::atol(argv[3]));
	else
		run(std::atol(argv[2]));
	return 0;
}

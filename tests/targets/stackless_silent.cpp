// SPDX-License-Identifier: MIT
//
// stackless_silent.cpp - a program that calls nothing that is hooked: one C++20 coroutine waits for what
// nobody has any more, and the program sleeps.
#include <coroutine>
#include <cstdio>
#include <unistd.h>

struct task {
	struct promise_type {
		task get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
};

static std::coroutine_handle<> waiter;

struct event {
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h) { waiter = h; }
	void await_resume() {}
};

static volatile int served;

__attribute__((noinline)) static task forgotten_request()
{
	co_await event{}; // waits
	served = served + 1;
}

__attribute__((noinline)) static void wipe()
{
	volatile char room[8192];
	for (unsigned i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main()
{
	forgotten_request();
	waiter = nullptr;
	wipe();
	std::puts("ready");
	std::fflush(stdout);
	for (;;) {
		sleep(1);
		wipe();
	}
}

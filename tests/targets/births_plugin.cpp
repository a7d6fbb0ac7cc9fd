// SPDX-License-Identifier: MIT
//
// A library with C++20 coroutines for births_host.c. With OTHER the functions have other names, and others
// lie where they lay.
#include <coroutine>
#include <cstdlib>

struct task {
	struct promise_type {
		task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void() {}
		void unhandled_exception()
		{
			std::abort();
		}
	};
	std::coroutine_handle<promise_type> h;
};

#ifdef OTHER
#define makes makes_other
#define waits waits_other
#endif

static std::coroutine_handle<> all[100];

static __attribute__((noinline)) task waits(int n)
{
	volatile int kept = n;
	co_await std::suspend_always{};
	kept = kept + 1;
}

static __attribute__((noinline)) void makes(int n)
{
	for (int i = 0; i < n; i++)
		all[i] = waits(i).h;
}

extern "C" void plugin_make(int n)
{
	makes(n);
}

extern "C" void plugin_destroy(int n)
{
	for (int i = 0; i < n; i++)
		all[i].destroy();
}

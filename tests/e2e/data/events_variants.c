// SPDX-License-Identifier: MIT
//
// Compiled by every compiler, in every language and at every level of optimisation that ctp/event.h speaks of.
#include "events.h"

#if defined(__cplusplus) && __cplusplus >= 202002L && __has_include(<coroutine>) && !defined(__clang__)
#include <coroutine>

struct task {
	struct promise_type {
		task get_return_object()
		{
			return {};
		}
		std::suspend_never initial_suspend()
		{
			return {};
		}
		std::suspend_never final_suspend() noexcept
		{
			return {};
		}
		void return_void() {}
		void unhandled_exception() {}
	};
};

static task awaits(int n)
{
	for (int i = 0; i < n; i++) {
		ctp_event(http, request, "coroutine", i);
		co_await std::suspend_never{};
	}
}
#else
static void awaits(int n)
{
	for (int i = 0; i < n; i++)
		ctp_event(http, request, "coroutine", i);
}
#endif

#ifdef __cplusplus
namespace inner {
enum class Level : unsigned char { low = 3 };
CTP_EVENT(cxx, level, (Level, level), (const bool, on));
template <typename T> T signals(T t)
{
	auto l = [&] { ctp_event(cxx, level, Level::low, true); };
	l();
	return t;
}
inline int in_header(int n)
{
	return ctp_event(http, idle), n;
}
}
#endif

int main(void)
{
	events_of_every_kind();
	if (ctp_event_enabled(http, idle))
		ctp_event(http, request, "enabled", 1);
	awaits(2);
#ifdef __cplusplus
	inner::signals(1);
	inner::signals(2.0);
	inner::in_header(3);
#else
	events_idle(3);
#endif
	return 0;
}

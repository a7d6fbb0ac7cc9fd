// SPDX-License-Identifier: MIT
//
// C++20 coroutines whose handles are hidden in a form that nobody searches for: nothing seems to lead to them. One
// more of the same kind is kept as it is.
// `stackless_hidden CASE` makes three of them, says "ready", and sleeps; at TERM it does with them what CASE says,
// and ends; or dies of it, if CASE does nothing with them, and makes a call each millisecond until then. tests/e2e/check_stackless.py says what must be found.
#include <coroutine>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cases20.h"

struct detached { // starts at once, and owns itself
	struct promise_type {
		detached get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

static const size_t count = 3;
static const unsigned bits = 48;
static unsigned short hidden[2 * count][bits]; // a bit each, in an order of their own, and no digits
static size_t nhidden;
static void *kept_plainly;
static volatile int turns;
static void *volatile used;

static unsigned short coded(unsigned bit, uintptr_t is_set)
{
	return (unsigned short)(300 + bit % 5 * 7 + is_set);
}

AWAY static void *shown(size_t i)
{
	uintptr_t frame = 0;
	for (unsigned bit = 0; bit < bits; bit++)
		frame |= (uintptr_t)(hidden[i][bit * 29 % bits] - coded(bit, 0)) << bit;
	return (void *)frame;
}

AWAY static void hide(void *frame)
{
	if (!kept_plainly) {
		kept_plainly = frame;
		return;
	}
	for (unsigned bit = 0; bit < bits; bit++)
		hidden[nhidden][bit * 29 % bits] = coded(bit, (uintptr_t)frame >> bit & 1);
	nhidden++;
}

struct away {
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h) { hide(h.address()); }
	void await_resume() {}
};

static detached once()
{
	co_await away{};
}

static detached again()
{
	for (int turn = 0;; turns = ++turn)
		co_await away{};
}

AWAY static void exit_with(void *p)
{
	void *volatile mine = p;
	exit((used = mine) == nullptr);
}

static detached exits()
{
	char local[64] = "";
	used = local;
	used = nullptr;
	co_await away{};
	exit_with(local);
}

static void keep(std::coroutine_handle<>)
{
}

static void resume(std::coroutine_handle<> h)
{
	h.resume();
}

static void destroy(std::coroutine_handle<> h)
{
	h.destroy();
}

static const struct {
	const char *name;
	detached (*make)();
	void (*at_end)(std::coroutine_handle<>);
} cases[] = {
	{"kept", once, keep},
	{"resumed", once, resume},
	{"destroyed", once, destroy},
	{"suspended_again", again, resume},
	{"running", exits, resume},
	{"ticking", once, nullptr},
};

AWAY static void make(detached (*one)())
{
	for (size_t i = 0; i < count + 1; i++)
		one();
}

int main(int argc, char **argv)
{
	const auto &made = case_of(cases, argc > 1 ? argv[1] : "");
	bool ticks = !made.at_end;
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGTERM);
	if (!ticks)
		sigprocmask(SIG_BLOCK, &s, nullptr);
	int order = signalfd(-1, &s, SFD_CLOEXEC), ep = epoll_create1(EPOLL_CLOEXEC);
	epoll_event e = {};
	e.events = EPOLLIN;
	epoll_ctl(ep, EPOLL_CTL_ADD, order, &e);
	make(made.make);
	overwrite_stack();
	say_ready();
	while (epoll_wait(ep, &e, 1, ticks ? 1 : -1) != 1)
		;
	for (size_t i = 0; i < count; i++)
		made.at_end(std::coroutine_handle<>::from_address(shown(i)));
	return 0;
}

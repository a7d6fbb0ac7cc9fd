// SPDX-License-Identifier: MIT
//
// Coroutines in threads, as Asio's awaitables are: the promise of the outermost one holds the innermost one, which
// is resumed through it, and an operation holds the outermost one alone. `threads20 CASE` makes three, resumes each
// once, says "ready", and sleeps in its loop. tests/e2e/check_asio20.py says what must be found.
#include <coroutine>
#include <exception>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cases20.h"

using handle = std::coroutine_handle<>;

struct outermost;

struct frame { // what each promise begins with
	handle self;
	outermost *thread = nullptr; // of the one that runs
	frame *caller = nullptr;
	void unhandled_exception() { std::terminate(); }
	void return_void() {}
};

struct outermost : frame {
	frame *top = this;
};

struct last {
	bool await_ready() noexcept { return false; }
	template <class P> handle await_suspend(std::coroutine_handle<P> h) noexcept
	{
		frame &f = h.promise();
		f.thread->top = f.caller;
		f.caller->thread = f.thread;
		return f.caller->self;
	}
	void await_resume() noexcept {}
};

struct task { // starts when it is awaited
	struct promise_type : frame {
		task get_return_object()
		{
			self = std::coroutine_handle<promise_type>::from_promise(*this);
			return task{this};
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		last final_suspend() noexcept { return {}; }
	};
	promise_type *of;
	explicit task(promise_type *p) : of(p) {}
	task(task &&other) : of(std::exchange(other.of, nullptr)) {}
	~task()
	{
		if (of)
			of->self.destroy();
	}
	bool await_ready() { return false; }
	template <class P> handle await_suspend(std::coroutine_handle<P> h)
	{
		of->caller = &h.promise();
		of->thread = std::exchange(of->caller->thread, nullptr);
		of->thread->top = of;
		return of->self;
	}
	void await_resume() {}
};

struct spawned { // starts at once, and owns itself
	struct promise_type : outermost {
		spawned get_return_object()
		{
			self = std::coroutine_handle<promise_type>::from_promise(*this);
			thread = this;
			return {};
		}
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
	};
};

struct operation {
	outermost *of;
	int fd; // -1: a timer's
};

struct timer { // a variable of the coroutine that waits for it
	operation *of = nullptr;
};

static std::vector<operation *> operations; // which the program keeps
static std::vector<timer *> timers;
static std::vector<int> fds;
static int ep = epoll_create1(EPOLL_CLOEXEC);

struct event {
	int fd;
	timer *in = nullptr;
	bool await_ready() { return false; }
	template <class P> void await_suspend(std::coroutine_handle<P> h)
	{
		operation *o = new operation{std::exchange(h.promise().thread, nullptr), fd};
		if (in) {
			in->of = o;
			return;
		}
		operations.push_back(o);
		epoll_event e = {EPOLLIN, {.ptr = operations.back()}};
		if (fd >= 0 && epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e) && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e))
			abort();
	}
	void await_resume() {}
};

static void complete(operation *o)
{
	frame *top = o->of->top;
	top->thread = o->of;
	delete o;
	top->self.resume();
}

static task initiate(int fd)
{
	co_await event{fd}; // waits
}

static task session(int fd)
{
	for (;;)
		co_await initiate(fd);
}

static task waits(int fd)
{
	for (;;)
		co_await event{fd}; // waits
}

static task expires(timer *t)
{
	co_await event{-1, t};
}

static task sleeps()
{
	timer t;
	timers.push_back(&t);
	for (;;)
		co_await expires(&t);
}

static spawned entry(task t)
{
	co_await std::move(t);
}

static int opened()
{
	fds.push_back(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	return fds.back();
}

enum { COUNT = 3 };

AWAY static void three()
{
	for (int i = 0; i < COUNT; i++)
		entry(session(-1));
}

AWAY static void two()
{
	for (int i = 0; i < COUNT; i++)
		entry(waits(-1));
}

AWAY static void watched()
{
	for (int i = 0; i < COUNT; i++)
		entry(session(opened()));
}

AWAY static void timed()
{
	for (int i = 0; i < COUNT; i++)
		entry(sleeps());
}

AWAY static void drop() // closes descriptors under them, and forgets timers
{
	for (int fd : fds)
		close(fd);
	for (timer *&t : timers)
		t = nullptr;
}

AWAY static void cut() // the outermost ones forget which is innermost
{
	for (operation *o : operations)
		o->of->top = nullptr;
}

static const struct {
	const char *name;
	void (*make)(), (*fault)();
} cases[] = {{"three", three},		{"two", two},		  {"watched", watched}, {"timed", timed},
	     {"dropped", watched, drop}, {"forgotten", timed, drop}, {"cut", three, cut}};

AWAY static void resume_each()
{
	for (timer *t : timers)
		complete(t->of);
	size_t n = operations.size();
	for (size_t i = 0; i < n; i++)
		complete(operations[i]);
	operations.erase(operations.begin(), operations.begin() + n);
}

int main(int argc, char **argv)
{
	const auto &made = case_of(cases, argc > 1 ? argv[1] : "");
	operations.reserve(64); // where one ends nothing else begins
	fds.reserve(64);
	timers.reserve(64);
	keep_a_block();
	made.make();
	resume_each();
	if (made.fault)
		made.fault();
	overwrite_stack();
	say_ready();
	for (;;) {
		epoll_event e;
		if (epoll_wait(ep, &e, 1, -1) == 1)
			complete((operation *)e.data.ptr);
	}
}

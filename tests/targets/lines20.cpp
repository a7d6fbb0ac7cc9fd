// SPDX-License-Identifier: MIT
//
// C++20 coroutines that are suspended at every co_await of functions that have several: `lines20` makes one
// coroutine for each, which goes through the awaits before it, and prints "ADDRESS LINE FUNCTION" of it: the
// line at which its awaiter was made. Nothing keeps their handles. Then it says "ready", and sleeps
// until SIGTERM. `lines20 N` makes those alone that are suspended at their N-th co_await, from 0.
// tests/e2e/check_lines20.py compares.
#include <coroutine>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define HERE __LINE__, __func__

static volatile int sink;
static int left = -1; // awaits to go through before the one that suspends

static void tell(std::coroutine_handle<> h, int line, const char *function)
{
	printf("%p %d %s\n", h.address(), line, function);
}

struct detached { // starts at once, and owns itself
	struct promise_type {
		detached get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

template <class T> struct task { // starts when it is awaited
	struct promise_type {
		std::coroutine_handle<> next;
		T value{};
		task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		struct last {
			bool await_ready() noexcept { return false; }
			std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().next ? h.promise().next : std::noop_coroutine();
			}
			void await_resume() noexcept {}
		};
		last final_suspend() noexcept { return {}; }
		void return_value(T v) { value = std::move(v); }
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	int line = 0;
	const char *function = nullptr;
	explicit task(std::coroutine_handle<promise_type> h) : h(h) {}
	task(task &&o) noexcept : h(std::exchange(o.h, nullptr)), line(o.line), function(o.function) {}
	task(const task &) = delete;
	~task()
	{
		if (h)
			h.destroy();
	}
	task &&at(int line, const char *function)
	{
		this->line = line;
		this->function = function;
		return std::move(*this);
	}
	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> c)
	{
		if (line && !left)
			tell(c, line, function);
		h.promise().next = c;
		return h;
	}
	T await_resume() { return std::move(h.promise().value); }
};

// The awaiters: each suspends if no more awaits are left to go through.
struct base {
	int line;
	const char *function;
	base(int line, const char *function) : line(line), function(function) {}
	bool await_ready() { return left-- > 0; }
};
struct nothing : base { // its await_resume does nothing
	using base::base;
	void await_suspend(std::coroutine_handle<> h) { tell(h, line, function); }
	void await_resume() {}
};
struct number : base {
	using base::base;
	void await_suspend(std::coroutine_handle<> h) { tell(h, line, function); }
	int await_resume() { return sink; }
};
struct text : base { // whose value is moved, and has a destructor
	using base::base;
	void await_suspend(std::coroutine_handle<> h) { tell(h, line, function); }
	std::string await_resume() { return std::string(40, 'x'); }
};
struct conditional : base { // its await_suspend may refuse
	using base::base;
	bool await_suspend(std::coroutine_handle<> h)
	{
		tell(h, line, function);
		return true;
	}
	void await_resume() { sink = 1; }
};
struct handing : base { // it hands over to another
	using base::base;
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> h)
	{
		tell(h, line, function);
		return std::noop_coroutine();
	}
	void await_resume() {}
};
struct distant : base { // its functions are not inlined
	using base::base;
	[[gnu::noinline]] void await_suspend(std::coroutine_handle<> h) { tell(h, line, function); }
	[[gnu::noinline]] int await_resume() { return sink; }
};
struct guarded : nothing { // has a destructor
	using nothing::nothing;
	~guarded() { sink = 2; }
};
struct convertible : base { // by an operator co_await
	using base::base;
	auto operator co_await() const { return number(line, function); }
};

[[gnu::noinline]] static void work(int n)
{
	sink = n;
}

static detached each_line()
{
	co_await nothing(HERE);
	co_await nothing(HERE);
	work(1);
	co_await nothing(HERE);
	co_await number(HERE);

	int n = co_await number(HERE);
	work(n);
	co_await distant(HERE);
	std::string s = co_await text(HERE);
	work((int)s.size());
	s = co_await text(HERE);
	co_await conditional(HERE);
	co_await handing(HERE);
	work(3);
	co_await guarded(HERE);
	co_await convertible(HERE);
	n = co_await convertible(HERE);
	work(n);
}

static detached in_loop(int n)
{
	for (int i = 0; i < n; i++) {
		work(i);
		co_await nothing(HERE);
	}
	for (int i = 0;; i++) {
		co_await nothing(HERE);
		if (i == n)
			break;
	}
	while (co_await number(HERE) == 0)
		work(4);
	do
		work(5);
	while (co_await number(HERE) == 77);
	for (auto s = co_await text(HERE); s.size() < 10;)
		work(6);
	if (co_await number(HERE))
		work(7);
	else
		co_await nothing(HERE);
	switch (co_await number(HERE)) {
	case 0:
		co_await nothing(HERE);
		break;
	default:
		co_await handing(HERE);
	}
	work(8);
}

static detached on_one_line()
{
	co_await nothing(HERE); co_await nothing(HERE);
	work(1); co_await number(HERE); work(2); co_await nothing(HERE); work(3);
	int n = co_await number(HERE) + co_await number(HERE);
	work(n + co_await number(HERE));
	work(co_await number(HERE) ? co_await number(HERE) : co_await number(HERE));
	std::string s = co_await text(HERE) + co_await text(HERE);
	work((int)s.size());
}

static int sum(int a, int b, int c)
{
	return a + b + c + sink;
}

static detached on_several_lines()
{
	int n = sum(1,
		    co_await number(HERE),
		    2);
	work(n);
	n = co_await number(HERE)
		+ co_await number(HERE)
		+ sink;
	work(n);
	work(sum(co_await number(HERE),
		 co_await distant(HERE),
		 co_await number(HERE)));
	auto s =
		co_await text(HERE);
	work((int)s.size());
}

struct holds {
	int n;
	holds(int n) : n(n) { work(n); }
	~holds() { work(-n); }
};

static detached with_scopes(bool again)
{
	holds a(1);
	try {
		holds b(2);
		co_await nothing(HERE);
		{
			holds c(3);
			co_await handing(HERE);
		}
		co_await distant(HERE);
	} catch (...) {
		work(9);
	}
	if (again) {
		holds d(4);
		co_await nothing(HERE);
	}
	auto p = std::make_unique<int>(co_await number(HERE));
	work(*p);
	co_await nothing(HERE);
}

static task<int> gives_number()
{
	co_await nothing(HERE);
	co_return co_await number(HERE);
}

static task<std::string> gives_text()
{
	auto s = co_await text(HERE);
	co_await nothing(HERE);
	co_return s + co_await text(HERE);
}

static detached awaits_tasks()
{
	co_await gives_number().at(HERE);
	int n = co_await gives_number().at(HERE);
	work(n);
	auto s = co_await gives_text().at(HERE);
	work((int)s.size());
	s = co_await gives_text().at(HERE);
	work((int)s.size());
	co_await gives_text().at(HERE);
	work(co_await gives_number().at(HERE) + co_await gives_number().at(HERE));
}

struct generator {
	struct promise_type {
		int value = 0;
		generator get_return_object()
		{
			return generator{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		nothing yield_value(int v)
		{
			value = v;
			return nothing(v, "yields");
		}
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	explicit generator(std::coroutine_handle<promise_type> h) : h(h) {}
};

static generator yields()
{
	co_yield __LINE__;
	for (int i = 0; i < 2; i++) {
		work(i);
		co_yield __LINE__;
	}
	co_yield __LINE__; co_yield __LINE__;
	work(9);
}

struct object {
	int n = 1;
	detached method(int m)
	{
		co_await nothing(HERE);
		n = co_await number(HERE);
		auto inner = [this, m]() -> task<int> {
			co_await nothing(HERE);
			work(m);
			co_await nothing(HERE);
			n += co_await number(HERE);
			co_return n;
		};
		work(co_await inner().at(HERE));
	}
};

static int only = -1;

// One more each time, until all awaits were gone through.
template <class F> static void every(F make)
{
	for (int i = 0; left < 0; i++) {
		left = only < 0 ? i : only;
		make();
		if (only >= 0)
			break;
	}
	left = -1;
}

// What the stack still has of them would count as a reference.
[[gnu::noinline]] static void overwrite_stack()
{
	volatile char a[65536];
	for (size_t i = 0; i < sizeof(a); i++)
		a[i] = 0;
}

int main(int argc, char **argv)
{
	static object o;
	only = argc > 1 ? atoi(argv[1]) : -1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	every([] { each_line(); });
	every([] { in_loop(1); });
	every([] { on_one_line(); });
	every([] { on_several_lines(); });
	every([] { with_scopes(true); });
	every([] { awaits_tasks(); });
	every([] { yields(); });
	every([] { o.method(1); });
	overwrite_stack();
	sigset_t ends;
	int which;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, nullptr);
	puts("ready");
	sigwait(&ends, &which);
}

// SPDX-License-Identifier: MIT
//
// engines_cxx.cpp - Boost.Context's fiber, Coroutine (the old), Coroutine2 and
// Fiber. All of them is linked statically but for libboost_context, so that every
// call of its functions is made in this program, where engines_wrap.S counts it.
// Where the number follows from the library's design, it is checked as well.
// Prints "coroutines C switches S" last.
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <boost/coroutine/all.hpp>
#include <boost/coroutine2/all.hpp>
#include <boost/fiber/all.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ctx = boost::context;
extern "C" unsigned long calls_of_make_fcontext, calls_of_jump_fcontext, calls_of_ontop_fcontext;

static void check_at(bool holds, const char *what, int line)
{
	if (holds)
		return;
	std::fprintf(stderr, "engines_cxx.cpp:%d: not so: %s\n", line, what);
	std::_Exit(98);
}
#define check(condition) check_at(condition, #condition, __LINE__)

static unsigned long switches()
{
	return calls_of_jump_fcontext + calls_of_ontop_fcontext;
}

// Made: there and back. Each resume: there and back. The last one is left by a
// function on top of the resumer.
static void fiber()
{
	for (int n = 0; n < 200; n++) {
		ctx::fiber f{std::allocator_arg, ctx::fixedsize_stack(16384 + n % 7 * 512), [n](ctx::fiber &&home) {
			for (int i = 0; i < n % 5; i++)
				home = std::move(home).resume();
			return std::move(home);
		}};
		while (f)
			f = std::move(f).resume();
	}
	check(switches() == 200 * 4 + 2 * 40 * (0 + 1 + 2 + 3 + 4));
}

// Destroyed while suspended: unwound by an exception put on top of it.
static void unwind()
{
	int destructors = 0;
	struct count {
		int &n;
		~count() { n++; }
	};
	for (int n = 0; n < 100; n++) {
		ctx::fiber f{std::allocator_arg, ctx::protected_fixedsize_stack(32768), [&](ctx::fiber &&home) {
			count c{destructors};
			for (;;)
				home = std::move(home).resume();
			return std::move(home);
		}};
		for (int i = 0; i < n % 3; i++)
			f = std::move(f).resume();
	}
	check(destructors == 33 * 2); // those that ever ran
	check(switches() == 100 * 4 + 2 * (33 * 1 + 33 * 2));
}

static void resume_with()
{
	ctx::fiber f{[](ctx::fiber &&home) {
		for (;;) {
			try {
				home = std::move(home).resume();
			} catch (const std::runtime_error &e) {
				check(!std::strcmp(e.what(), "on top"));
				home = std::move(home).resume();
			}
		}
		return std::move(home);
	}};
	f = std::move(f).resume();
	for (int i = 0; i < 50; i++) {
		int seen = 0;
		f = std::move(f).resume_with([&](ctx::fiber &&from) {
			seen = i + 1;
			return std::move(from);
		});
		check(seen == i + 1);
	}
}

static void coroutine2()
{
	typedef boost::coroutines2::coroutine<int> co;
	for (int n = 0; n < 100; n++) {
		co::pull_type source([n](co::push_type &sink) {
			for (int i = 0; i < n; i++)
				sink(i);
		});
		int want = 0;
		for (int i : source)
			check(i == want++);
		check(want == n);
	}
	for (int n = 0; n < 50; n++) { // given up half way
		co::pull_type source([](co::push_type &sink) {
			for (int i = 0;; i++)
				sink(i);
		});
		for (int i = 0; i < n; i++)
			source();
		check(source.get() == n);
	}
}

static void coroutine1()
{
	typedef boost::coroutines::asymmetric_coroutine<std::string> co;
	for (int n = 0; n < 60; n++) {
		co::push_type sink([](co::pull_type &source) {
			while (source)
				source();
		});
		for (int i = 0; i < n; i++)
			sink(std::to_string(i));
	}
	for (int n = 0; n < 60; n++) {
		co::pull_type source([n](co::push_type &sink) {
			for (int i = 0; i < n % 10; i++)
				sink(std::to_string(i));
		});
		int want = 0;
		for (; source; source())
			check(source.get() == std::to_string(want++));
		check(want == n % 10);
	}
}

static void fibers_here(int count)
{
	boost::fibers::buffered_channel<int> channel{16};
	std::vector<boost::fibers::fiber> all;
	boost::fibers::mutex lock;
	long sum = 0;
	for (int i = 0; i < count; i++)
		all.emplace_back([&, i] {
			for (int k = 0; k < 10; k++) {
				channel.push(i);
				boost::this_fiber::yield();
			}
		});
	for (int i = 0; i < 4; i++)
		all.emplace_back([&] {
			for (int v; channel.pop(v) == boost::fibers::channel_op_status::success;) {
				std::unique_lock<boost::fibers::mutex> held(lock);
				sum += v;
			}
		});
	for (int i = 0; i < count; i++)
		all[i].join();
	channel.close();
	for (int i = 0; i < 4; i++)
		all[count + i].join();
	check(sum == 10L * count * (count - 1) / 2);
}

static void fibers()
{
	fibers_here(50);
}

static void fibers_threads()
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(fibers_here, 20);
	for (auto &t : threads)
		t.join();
}

// Fibers go on wherever a thread takes them.
static void fibers_sharing()
{
	static int left = 100;
	static boost::fibers::mutex lock;
	static boost::fibers::condition_variable_any none_left;
	std::vector<std::thread> threads;
	boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>(true);
	for (int i = 0; i < 100; i++)
		boost::fibers::fiber([] {
			for (int k = 0; k < 20; k++)
				boost::this_fiber::yield();
			std::unique_lock<boost::fibers::mutex> held(lock);
			if (--left == 0)
				none_left.notify_all();
		}).detach();
	auto wait = [] {
		std::unique_lock<boost::fibers::mutex> held(lock);
		none_left.wait(held, [] { return left == 0; });
	};
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>(true);
			wait();
		});
	wait();
	for (auto &t : threads)
		t.join();
}

// Thrown and caught inside, out of several frames; a switch in a handler.
static void thrown(int depth)
{
	if (depth == 0)
		throw std::runtime_error("deep");
	thrown(depth - 1);
	check(false);
}

static void exceptions()
{
	typedef boost::coroutines2::coroutine<int> co;
	for (int n = 0; n < 50; n++) {
		co::pull_type source([n](co::push_type &sink) {
			for (int i = 0; i < 5; i++)
				try {
					thrown(i);
				} catch (const std::runtime_error &e) {
					sink(i);
				}
			throw std::logic_error("out of it"); // carried over to the resumer
		});
		int got = 0;
		try {
			for (; source; source())
				got++;
			check(false);
		} catch (const std::logic_error &e) {
			check(!std::strcmp(e.what(), "out of it"));
		}
		check(got == 5);
	}
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		void (*run)();
	} cases[] = {{"fiber", fiber}, {"unwind", unwind}, {"resume_with", resume_with}, {"coroutine2", coroutine2},
		     {"coroutine1", coroutine1}, {"fibers", fibers}, {"fibers_threads", fibers_threads},
		     {"fibers_sharing", fibers_sharing}, {"exceptions", exceptions}};
	for (auto &c : cases)
		if (argc > 1 && !std::strcmp(argv[1], c.name)) {
			// Fiber's schedulers end with their threads, the main one's after main
			std::atexit([] {
				std::printf("coroutines %lu switches %lu\n", calls_of_make_fcontext, switches());
			});
			c.run();
			return 0;
		}
	return 2;
}

// SPDX-License-Identifier: MIT
//
// ended.cpp - coroutines on Boost's own classes that have ended, each after it
// closed a descriptor that main closes again: whose fault it is said to be
// depends on what such a coroutine is called. Given as a lambda, a functor, a
// function that suspends, one that does not, and both to Boost.Coroutine2.
#include <boost/context/fiber.hpp>
#include <boost/coroutine2/coroutine.hpp>

#include <fcntl.h>
#include <unistd.h>

using boost::context::fiber;
using numbers = boost::coroutines2::coroutine<int>;

static int fds[6]; // not next to each other: a row of numbers is closed on purpose

static void drop(int n)
{
	close(fds[n]);
}

struct session {
	int n;
	fiber operator()(fiber &&back) const
	{
		back = std::move(back).resume();
		drop(n);
		return std::move(back);
	}
};

static fiber handler(fiber &&back)
{
	back = std::move(back).resume();
	drop(2);
	return std::move(back);
}

static fiber at_once(fiber &&back)
{
	drop(3);
	return std::move(back);
}

static void producer(numbers::push_type &to)
{
	to(1);
	drop(4);
}

static void run(fiber f, int n)
{
	while (f)
		f = std::move(f).resume();
	close(fds[n]);
}

static void run(numbers::pull_type from, int n)
{
	while (from)
		from();
	close(fds[n]);
}

int main()
{
	for (int &fd : fds) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		dup(fd);
	}
	run(fiber([](fiber &&back) {
		back = std::move(back).resume();
		drop(0);
		return std::move(back);
	}), 0);
	run(fiber(session{1}), 1);
	run(fiber(handler), 2);
	run(fiber(at_once), 3);
	run(numbers::pull_type(producer), 4);
	run(numbers::pull_type([](numbers::push_type &to) {
		to(1);
		drop(5);
	}), 5);
}

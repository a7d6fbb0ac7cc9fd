// SPDX-License-Identifier: MIT
//
// C++20 coroutines that tell of themselves (include/ctp/coroutine.hpp), and count what they do.
//
//	announced scheduler N   an M:N scheduler: 4 workers take handles from one queue; N trees of coroutines yield and await each other
//	announced lost N        N connections, whose descriptors a reaper closes; then a long wait
//	announced generator N   a coroutine that runs N steps of another one by hand
//	announced forked N      as generator, in a child as well
#include <ctp/coroutine.hpp>
#include <ctp/task.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static std::atomic<long> created, resumed, suspended, ended;

// ------------------------------------------------------------- a task, as everybody writes it

struct counted_start {
	bool await_ready() noexcept { return false; }
	void await_suspend(std::coroutine_handle<>) noexcept {}
	void await_resume() noexcept { resumed++; }
};

struct task {
	struct promise_type : ctp::promise<promise_type> {
		std::coroutine_handle<> next;
		int value = 0;
		promise_type() { created++; }
		task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		auto initial_suspend() noexcept { return ctp_initial(counted_start{}); }
		struct at_end {
			bool await_ready() noexcept { ended++; return false; }
			std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				auto next = h.promise().next;
				return next ? next : std::noop_coroutine();
			}
			void await_resume() noexcept {}
		};
		auto final_suspend() noexcept { return ctp_final(at_end{}); }
		void return_value(int x) { value = x; }
		void unhandled_exception() { std::abort(); }
	};
	struct awaiter {
		std::coroutine_handle<promise_type> h;
		bool await_ready() noexcept { return false; }
		std::coroutine_handle<> await_suspend(std::coroutine_handle<> by) noexcept
		{
			suspended++;
			h.promise().next = by;
			return h;
		}
		int await_resume()
		{
			resumed++;
			int value = h.promise().value;
			h.destroy();
			return value;
		}
	};
	awaiter operator co_await() && { return {h}; }
	std::coroutine_handle<promise_type> h;
};

// ------------------------------------------------------------- the scheduler

static std::mutex lock;
static std::condition_variable more;
static std::deque<std::coroutine_handle<>> queue;
static bool stop;
static std::atomic<int> left;

static void post(std::coroutine_handle<> h)
{
	{
		std::lock_guard<std::mutex> l(lock);
		queue.push_back(h);
	}
	more.notify_one();
}

static void worker()
{
	for (;;) {
		std::unique_lock<std::mutex> l(lock);
		more.wait(l, [] { return stop || !queue.empty(); });
		if (queue.empty())
			return;
		auto h = queue.front();
		queue.pop_front();
		l.unlock();
		h.resume();
	}
}

struct yielding {
	bool await_ready() noexcept { return false; }
	bool await_suspend(std::coroutine_handle<> h) noexcept
	{
		suspended++;
		post(h);
		return true;
	}
	void await_resume() noexcept { resumed++; }
};

struct at_once { // is ready sometimes, or suspends and then does not
	int way;
	bool await_ready() noexcept { return way == 0; }
	bool await_suspend(std::coroutine_handle<>) noexcept
	{
		suspended++;
		return false;
	}
	void await_resume() noexcept { resumed += way != 0; }
};

struct throwing {
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<>)
	{
		suspended++;
		resumed++;
		throw 1;
	}
	void await_resume() {}
};

static task leaf(int n)
{
	for (int i = 0; i < n; i++)
		co_await yielding{};
	co_await at_once{0};
	co_await at_once{1};
	try {
		co_await throwing{};
	} catch (int) {
	}
	co_return n;
}

static task middle(int n)
{
	int sum = 0;
	for (int i = 0; i < 3; i++)
		sum += co_await leaf(n);
	co_return sum;
}

static task root(int n)
{
	int sum = co_await middle(n);
	if (sum != 3 * n)
		std::abort();
	if (--left == 0) {
		std::lock_guard<std::mutex> l(lock);
		stop = true;
		more.notify_all();
	}
	co_return 0;
}

static void scheduler(int n)
{
	std::vector<std::thread> workers;
	std::vector<std::coroutine_handle<>> roots;
	left = n;
	for (int i = 0; i < n; i++) {
		roots.push_back(root(20).h);
		post(roots.back());
	}
	for (int i = 0; i < 4; i++)
		workers.emplace_back(worker);
	for (auto &w : workers)
		w.join();
	for (auto h : roots)
		h.destroy();
}

// ------------------------------------------------------------- the lost

static int set;

struct readable {
	int fd;
	epoll_event ev{};
	bool await_ready() noexcept { return false; }
	void await_suspend(std::coroutine_handle<> h) noexcept
	{
		suspended++;
		ev.events = EPOLLIN | EPOLLONESHOT;
		ev.data.ptr = h.address();
		if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev))
			epoll_ctl(set, EPOLL_CTL_MOD, fd, &ev);
	}
	void await_resume() noexcept { resumed++; }
	ctp::wait ctp_wait() const noexcept { return {CTP_REASON_READ, fd}; }
};

static task read_byte(int fd)
{
	char c;
	ctp_set_name("a reader");
	co_await readable{fd}; // fault
	co_return (int)read(fd, &c, 1);
}

static task read_line(int fd)
{
	int n = 0;
	while (co_await read_byte(fd) > 0)
		n++;
	co_return n;
}

static task connection(int fd)
{
	int n = co_await read_line(fd);
	std::printf("%d\n", n);
	co_return 0;
}

__attribute__((noinline)) static void reaper(int fd)
{
	close(fd);
}

static void turn(int ms)
{
	epoll_event ev[64];
	int k = epoll_wait(set, ev, 64, ms);
	for (int i = 0; i < k; i++)
		std::coroutine_handle<>::from_address(ev[i].data.ptr).resume();
}

static void lost(int n)
{
	std::vector<int> ours(n), theirs(n);
	set = epoll_create1(0);
	for (int i = 0; i < n; i++) {
		int ends[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
			std::abort();
		ours[i] = ends[0];
		theirs[i] = ends[1];
		connection(ours[i]).h.resume();
		if (write(theirs[i], "ab", 2) != 2)
			std::abort();
	}
	for (int i = 0; i < 8; i++)
		turn(20);
	for (int i = 0; i < n; i++)
		reaper(ours[i]);
	for (int i = 0; i < 8; i++)
		turn(20);
	std::puts("ready");
	std::fflush(stdout);
	for (;;)
		turn(-1);
}

// ------------------------------------------------------------- by hand

struct stepping {
	bool await_ready() noexcept { return false; }
	void await_suspend(std::coroutine_handle<>) noexcept { suspended++; }
	void await_resume() noexcept { resumed++; }
};

static task steps(int n)
{
	while (n--)
		co_await stepping{};
	co_return 0;
}

static task outer(int n)
{
	auto h = steps(n).h;
	while (!h.done())
		h.resume();
	h.destroy();
	co_await stepping{};
	co_return 0;
}

static void generator(int n)
{
	auto h = outer(n).h, never = steps(1).h, half = steps(9).h;
	while (!h.done())
		h.resume();
	h.destroy();
	half.resume();
	half.destroy();  // while it is suspended
	never.destroy(); // it was never started
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? std::atoi(argv[2]) : 10;
	const char *what = argc > 1 ? argv[1] : "scheduler";
	pid_t child = -1;
	if (!std::strcmp(what, "scheduler"))
		scheduler(n);
	if (!std::strcmp(what, "lost"))
		lost(n);
	if (!std::strcmp(what, "forked")) {
		auto h = outer(n).h;
		child = fork();
		while (!h.done())
			h.resume();
		h.destroy();
	}
	if (!std::strcmp(what, "generator"))
		generator(n);
	if (child > 0)
		waitpid(child, nullptr, 0);
	if (child != 0)
		std::printf("%ld %ld %ld %ld\n", created.load(), resumed.load(), suspended.load(), ended.load());
}

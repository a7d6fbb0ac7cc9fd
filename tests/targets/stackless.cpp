// SPDX-License-Identifier: MIT
//
// C++20 coroutines that nobody can resume any more, and others that only look so. `stackless CASE [N]` makes N of
// them (3), says "ready" when its state is final, and then sleeps in its loop. tests/e2e/check_stackless.py says
// what must be found. `stackless CASE N rests` says "made" before it loses them, and waits for SIGUSR1: so ctp-run
// can have seen what led to them. With `listens` in place of that, somebody outside may wake the loop; with `ticks`
// it wakes every 25 ms, and with `pauses` another thread sleeps in pause(2) for good; with `sends`
// bytes that it has sent to itself wait in a socket. Handles are kept out of frames that sleep: each case is made in a function of its own, and the stack below is overwritten.
#include <condition_variable>
#include <coroutine>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <fcntl.h>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cases20.h"

// ------------------------------------------------------------------ coroutines

struct detached { // starts at once, and owns itself
	struct promise_type {
		detached get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

struct task { // starts when it is awaited
	struct promise_type {
		std::coroutine_handle<> next;
		int value = 0;
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
		void return_value(int v) { value = v; }
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	explicit task(std::coroutine_handle<promise_type> h) : h(h) {}
	task(task &&o) noexcept : h(std::exchange(o.h, nullptr)) {}
	task(const task &) = delete;
	~task()
	{
		if (h)
			h.destroy();
	}
	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> c)
	{
		h.promise().next = c;
		return h;
	}
	int await_resume() { return h.promise().value; }
};

struct generator {
	struct promise_type {
		int value = 0;
		generator get_return_object()
		{
			return generator{std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int v)
		{
			value = v;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	explicit generator(std::coroutine_handle<promise_type> h) : h(h) {}
	generator(generator &&o) noexcept : h(std::exchange(o.h, nullptr)) {}
	~generator()
	{
		if (h)
			h.destroy();
	}
	int next()
	{
		h.resume();
		return h.promise().value;
	}
};

// ------------------------------------------------------------------- the loop

static int ep = epoll_create1(EPOLL_CLOEXEC);

static void add(int fd, void *data)
{
	epoll_event e = {};
	e.events = EPOLLIN;
	e.data.ptr = data;
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
}

static int pair_of()
{
	int sv[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv))
		abort();
	return sv[0]; // the other end stays open
}

struct readable { // its registration leads to the awaiter, which lies in the frame
	int fd;
	std::coroutine_handle<> h = nullptr;
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> c)
	{
		h = c;
		add(fd, this);
	}
	void await_resume() {}
};

struct by_handle { // it leads to the frame itself
	int fd;
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> c) { add(fd, c.address()); }
	void await_resume() {}
};

struct conn { // it leads to an object of the heap that has the handle
	int fd;
	std::coroutine_handle<> h;
};
struct by_object {
	conn *c;
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h)
	{
		c->h = h;
		add(c->fd, c);
	}
	void await_resume() {}
};

template <class F> struct hands { // the handle goes where F puts it
	F put;
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h) { put(h); }
	void await_resume() {}
};
template <class F> hands(F) -> hands<F>;

static task read_byte(int fd)
{
	co_await readable{fd}; // fault
	co_return 1;
}

static task read_line(int fd)
{
	co_return co_await read_byte(fd);
}

static detached session(int fd)
{
	co_await read_line(fd);
}

static detached waits_here(int fd)
{
	co_await readable{fd};
}

static detached waits_by_handle(int fd)
{
	co_await by_handle{fd};
}

static detached waits_by_object(conn *c)
{
	co_await by_object{c};
}

template <class F> static detached waits_in(F put)
{
	co_await hands{put};
}

static int count = 3;
static std::vector<int> fds;

AWAY static void reap(int fd)
{
	close(fd);
}

AWAY static void reap_all()
{
	usleep(30000); // a look at the table of descriptors, while they are open
	for (int fd : fds)
		reap(fd);
	fds.clear();
}

static bool rests;

static int usr1()
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigprocmask(SIG_BLOCK, &s, nullptr);
	return signalfd(-1, &s, SFD_CLOEXEC);
}

AWAY static void rest()
{
	epoll_event e;
	signalfd_siginfo i;
	if (!rests)
		return;
	int order = usr1();
	add(order, nullptr);
	overwrite_stack();
	puts("made");
	fflush(stdout);
	while (epoll_wait(ep, &e, 1, -1) != 1)
		;
	if (read(order, &i, sizeof(i)) != sizeof(i))
		abort();
	close(order);
}

// --------------------------------------------------------------------- faults

AWAY static void closed()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		waits_here(fds.back());
	}
	reap_all();
}

AWAY static void closed_deep()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		session(fds.back());
	}
	reap_all();
}

AWAY static void closed_handle()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		waits_by_handle(fds.back());
	}
	reap_all();
}

static std::map<int, conn *> conns;

AWAY static void make_conns()
{
	for (int i = 0; i < count; i++) {
		int fd = pair_of();
		fds.push_back(fd);
		conns[fd] = new conn{fd, nullptr};
		waits_by_object(conns[fd]);
	}
}

AWAY static void closed_object()
{
	make_conns();
	rest();
	reap_all();
	for (auto &c : conns)
		delete c.second;
	conns.clear();
}

AWAY static void map_kept()
{
	make_conns();
	reap_all();
}

static std::map<int, std::coroutine_handle<>> by_number;

static void add_number(int fd)
{
	epoll_event e = {};
	e.events = EPOLLIN;
	e.data.fd = fd;
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
}

static detached waits_by_number(int fd)
{
	co_await hands{[fd](std::coroutine_handle<> h) {
		by_number[fd] = h;
		add_number(fd);
	}};
	close(fd);
}

AWAY static void numbered()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		waits_by_number(fds.back());
	}
	reap_all();
}

// The numbers are in use again, in the same set: their events lead to the handles.
AWAY static void numbered_again()
{
	numbered();
	for (auto &w : by_number) {
		int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (fd != w.first && dup3(fd, w.first, O_CLOEXEC) == w.first)
			close(fd);
	}
	for (auto &w : by_number)
		add_number(w.first);
}

static detached waits_as_session(int number)
{
	co_await hands{[number](std::coroutine_handle<> h) { by_number[number] = h; }};
	printf("session %d\n", number);
}

// Sessions whose numbers are those of descriptors that were closed before they began.
AWAY static void numbered_later()
{
	std::vector<int> numbers;
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		add_number(fds.back());
	}
	numbers = fds;
	reap_all();
	for (int number : numbers)
		waits_as_session(number);
}

static std::vector<task> owners;

AWAY static void owned()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		owners.push_back(read_line(fds.back()));
		owners.back().h.resume();
	}
	reap_all();
}

static std::deque<std::coroutine_handle<>> queue;

AWAY static void popped()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { queue.push_back(h); });
	rest();
	while (!queue.empty())
		queue.pop_front();
	std::deque<std::coroutine_handle<>>().swap(queue);
}

static std::vector<std::coroutine_handle<>> *waiters;

AWAY static void event_lost()
{
	waiters = new std::vector<std::coroutine_handle<>>;
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { waiters->push_back(h); });
	rest();
	waiters->assign(waiters->size(), nullptr); // whoever gets that memory next need not write all of it
	delete waiters;
	waiters = nullptr;
}

struct peer {
	std::coroutine_handle<> other;
};

static detached one_of_two(std::shared_ptr<peer> mine, std::shared_ptr<peer> other)
{
	co_await hands{[&](std::coroutine_handle<> h) { other->other = h; }};
	(void)mine;
}

AWAY static void ring()
{
	for (int i = 0; i < count; i++) {
		auto a = std::make_shared<peer>(), b = std::make_shared<peer>();
		one_of_two(a, b);
		one_of_two(b, a);
	}
}

static task lazy(int n)
{
	co_return n;
}

AWAY static void never_started()
{
	std::vector<task> all;
	for (int i = 0; i < count; i++) {
		task t = lazy(i);
		all.push_back(std::move(t));
	}
	rest();
	for (task &t : all)
		t.h = nullptr; // nobody destroys it
}

static std::map<uint64_t, std::coroutine_handle<>> timers;

AWAY static void timer_dropped()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { timers[1000 + timers.size()] = h; });
	rest();
	timers.clear();
}

AWAY static void registration_removed()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		waits_by_handle(fds.back());
	}
	rest();
	for (int fd : fds)
		epoll_ctl(ep, EPOLL_CTL_DEL, fd, nullptr);
}

AWAY static void thread_ended()
{
	std::thread([] {
		static thread_local std::vector<std::coroutine_handle<>> mine;
		for (int i = 0; i < count; i++)
			waits_in([](std::coroutine_handle<> h) { mine.push_back(h); });
	}).join();
}

std::coroutine_handle<> last;

AWAY static void overwritten()
{
	for (int i = 0; i < count + 1; i++) // the last one is reached
		waits_in([](std::coroutine_handle<> h) { last = h; });
}

AWAY static void closed_timer()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
		waits_here(fds.back());
	}
	reap_all();
}

struct lock { // its waiters' frames hold the list
	struct waiter {
		lock *of;
		waiter *next = nullptr;
		std::coroutine_handle<> h = nullptr;
		bool await_ready() { return false; }
		void await_suspend(std::coroutine_handle<> c)
		{
			h = c;
			next = of->first;
			of->first = this;
		}
		void await_resume() {}
	};
	waiter *first = nullptr;
};

static detached locks(lock *l)
{
	co_await lock::waiter{l};
}

AWAY static void lock_freed()
{
	lock *l = new lock;
	for (int i = 0; i < count; i++)
		locks(l);
	delete l;
}

AWAY static void first_callback()
{
	throw 1;
}

// Those who are to be called are taken out at once; the first one throws, and nobody calls the others.
AWAY static void callback_threw()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { queue.push_back(h); });
	rest();
	try {
		std::deque<std::coroutine_handle<>> now;
		now.swap(queue);
		first_callback();
		while (!now.empty()) {
			now.front().resume();
			now.pop_front();
		}
	} catch (int) {
	}
}

// A process that it forked lives.
AWAY static void closed_beside_child()
{
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	closed();
}

static detached sleeps_and_waits(int fd)
{
	co_await by_handle{fd};
	close(fd);
	co_await hands{[](std::coroutine_handle<> h) { queue.push_back(h); }};
}

// Each closes its timer itself, waits for something else, and is lost there.
AWAY static void lost_after_sleep()
{
	for (int i = 0; i < count; i++) {
		epoll_event e;
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		itimerspec t = {};
		t.it_value.tv_nsec = 1;
		timerfd_settime(fd, 0, &t, nullptr);
		sleeps_and_waits(fd);
		if (epoll_wait(ep, &e, 1, -1) == 1)
			std::coroutine_handle<>::from_address(e.data.ptr).resume();
	}
	rest();
	std::deque<std::coroutine_handle<>>(count).swap(queue);
	queue.clear();
}

// ------------------------------------------------------------------ look-alikes

AWAY static void healthy()
{
	for (int i = 0; i < count; i++) {
		session(pair_of());
		waits_by_handle(pair_of());
	}
}

static generator numbers()
{
	for (int i = 0;; i++)
		co_yield i;
}

static std::vector<generator> sources;

AWAY static void parked_generators()
{
	for (int i = 0; i < count; i++) {
		sources.push_back(numbers());
		sources.back().next();
	}
}

AWAY static void ended_and_kept()
{
	for (int i = 0; i < count; i++) {
		owners.push_back(lazy(i));
		owners.back().h.resume();
	}
}

AWAY static void ended_and_leaked()
{
	for (int i = 0; i < count; i++) {
		task t = lazy(i);
		t.h.resume();
		t.h = nullptr;
	}
}

AWAY static void lazy_and_kept()
{
	for (int i = 0; i < count; i++)
		owners.push_back(lazy(i));
}

AWAY static void queued()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { queue.push_back(h); });
}

static int order_fd = -1;

// They go on when USR1 comes, and end.
AWAY static void ended_on_order()
{
	queued();
	order_fd = usr1();
	add(order_fd, nullptr);
}

AWAY static void take_order()
{
	signalfd_siginfo i;
	if (read(order_fd, &i, sizeof(i)) != sizeof(i))
		abort();
	for (auto h : queue)
		h.resume();
	queue.clear();
	puts("ended");
	fflush(stdout);
}

static std::vector<uintptr_t> words;

static task asks(int n)
{
	co_await hands{[](std::coroutine_handle<> h) { queue.push_back(h); }};
	co_return n;
}

static task relays(int n)
{
	co_return co_await asks(n);
}

static detached starts(int n)
{
	co_await relays(n);
}

AWAY static void queued_deep()
{
	for (int i = 0; i < count; i++)
		starts(i);
}

AWAY static void tagged()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { words.push_back((uintptr_t)h.address() | 1); });
}

AWAY static void packed()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) {
			words.push_back((uintptr_t)h.address() | (uintptr_t)(words.size() + 7) << 48);
		});
}

AWAY static void shifted()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { words.push_back((uintptr_t)h.address() >> 4); });
}

AWAY static void by_promise()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { words.push_back((uintptr_t)h.address() + 16); });
}

AWAY static void typed_keys()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { words.push_back((uintptr_t)h.address() << 4 | 11); });
}

struct aligned { // its frame shares no line of the cache
	struct promise_type : detached::promise_type {
		aligned get_return_object() { return {}; }
		static void *operator new(size_t n) { return aligned_alloc(64, (n + 63) & ~(size_t)63); }
		static void operator delete(void *p) { free(p); }
	};
};

template <class F> static aligned waits_aligned_in(F put)
{
	co_await hands{put};
}

AWAY static void line_numbers()
{
	for (int i = 0; i < count; i++)
		waits_aligned_in([](std::coroutine_handle<> h) { words.push_back((uintptr_t)h.address() >> 6); });
}

static std::vector<std::string> texts;

AWAY static void lazy_as_text()
{
	for (int i = 0; i < count; i++) {
		char text[24];
		task t = lazy(i);
		snprintf(text, sizeof(text), "%p", t.h.address());
		texts.push_back(text);
		t.h = nullptr;
	}
}

static int executor_fd = -1;

// Whoever owns the roots polls them: legal, and nobody else can know.
AWAY static void polling_executor()
{
	owned();
	executor_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	itimerspec t = {};
	t.it_value.tv_sec = 1000;
	timerfd_settime(executor_fd, 0, &t, nullptr);
	add(executor_fd, nullptr);
}

static char slab[1 << 16];
static size_t slab_used;

struct pooled {
	struct promise_type : detached::promise_type {
		pooled get_return_object() { return {}; }
		static void *operator new(size_t n)
		{
			void *p = slab + slab_used;
			slab_used += (n + 15) & ~(size_t)15;
			return p;
		}
		static void operator delete(void *) {}
	};
};

static pooled waits_pooled(int fd)
{
	co_await readable{fd};
}

AWAY static void pool_allocator()
{
	for (int i = 0; i < count; i++) {
		fds.push_back(pair_of());
		waits_pooled(fds.back());
	}
	reap_all();
}

AWAY static void io_uring_beside()
{
	char params[256] = {};
	if (syscall(SYS_io_uring_setup, 4, params) < 0) {
		puts("no io_uring");
		exit(77);
	}
	closed();
}

AWAY static void in_a_pipe()
{
	static int ends[2];
	if (pipe(ends))
		abort();
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) {
			void *p = h.address();
			if (write(ends[1], &p, sizeof(p)) != sizeof(p))
				abort();
		});
}

AWAY static void in_a_thread()
{
	static std::mutex m;
	static std::condition_variable c;
	static bool there;
	std::thread([] {
		std::coroutine_handle<> mine[8] = {};
		static thread_local int n;
		static thread_local std::coroutine_handle<> *to;
		to = mine;
		for (int i = 0; i < count && i < 8; i++)
			waits_in([](std::coroutine_handle<> h) { to[n++] = h; });
		std::unique_lock<std::mutex> l(m);
		there = true;
		c.notify_all();
		for (volatile std::coroutine_handle<> *v = mine; v;)
			c.wait(l);
	}).detach();
	std::unique_lock<std::mutex> l(m);
	while (!there)
		c.wait(l);
}

AWAY static void closed_and_resumed()
{
	make_conns();
	usleep(30000);
	for (auto &c : conns) {
		reap(c.first);
		c.second->h.resume();
		delete c.second;
	}
	conns.clear();
}

AWAY static void destroyed()
{
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { queue.push_back(h); });
	for (auto h : queue)
		h.destroy();
	queue.clear();
}

AWAY static void armed_timers()
{
	for (int i = 0; i < count; i++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		itimerspec t = {};
		t.it_value.tv_sec = 1000;
		timerfd_settime(fd, 0, &t, nullptr);
		waits_by_handle(fd);
	}
}

static std::vector<void **> forgeries;

// Blocks that begin as a frame does and hold anything else behind: states that are none, and each leads to the
// next, the last to the first. Beside them, real ones.
AWAY static void forged()
{
	static void **real;
	healthy();
	waits_in([](std::coroutine_handle<> h) { queue.push_back(h), real = (void **)h.address(); });
	for (int i = 0; i < 2000; i++)
		forgeries.push_back((void **)malloc(256));
	for (size_t i = 0; i < forgeries.size(); i++) {
		void **next = forgeries[(i + 1) % forgeries.size()];
		for (size_t k = 0; k < 32; k++)
			forgeries[i][k] = k % 3 ? (void *)(next + (k % 2) * 2) : (void *)(i * 0x0101010101010101ULL);
		forgeries[i][0] = real[0];
		forgeries[i][1] = real[1];
	}
}

static std::list<std::coroutine_handle<>> gate;

static detached closes_itself(int fd)
{
	co_await by_handle{fd};
	close(fd);
}

// Those of a list, which an order would resume. Its nodes lie behind frames to which registrations led, of coroutines
// that have closed their descriptors and ended.
AWAY static void listed_beside_closed()
{
	std::vector<int> peers;
	for (int i = 0; i < count; i++) {
		int sv[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv))
			abort();
		closes_itself(sv[0]);
		peers.push_back(sv[1]);
	}
	for (int i = 0; i < count; i++)
		waits_in([](std::coroutine_handle<> h) { gate.push_back(h); });
	usleep(30000); // a look at the table of descriptors, while they are open
	for (int fd : peers) {
		epoll_event e;
		close(fd);
		if (epoll_wait(ep, &e, 1, -1) == 1)
			std::coroutine_handle<>::from_address(e.data.ptr).resume();
	}
}

static const struct {
	const char *name;
	void (*make)();
} cases[] = {
	{"closed", closed},
	{"closed_deep", closed_deep},
	{"closed_handle", closed_handle},
	{"closed_object", closed_object},
	{"map_kept", map_kept},
	{"numbered", numbered},
	{"numbered_again", numbered_again},
	{"numbered_later", numbered_later},
	{"owned", owned},
	{"popped", popped},
	{"event_lost", event_lost},
	{"ring", ring},
	{"never_started", never_started},
	{"timer_dropped", timer_dropped},
	{"registration_removed", registration_removed},
	{"thread_ended", thread_ended},
	{"overwritten", overwritten},
	{"closed_timer", closed_timer},
	{"lock_freed", lock_freed},
	{"callback_threw", callback_threw},
	{"closed_beside_child", closed_beside_child},
	{"lost_after_sleep", lost_after_sleep},
	{"healthy", healthy},
	{"parked_generators", parked_generators},
	{"ended_and_kept", ended_and_kept},
	{"ended_and_leaked", ended_and_leaked},
	{"lazy_and_kept", lazy_and_kept},
	{"queued", queued},
	{"queued_deep", queued_deep},
	{"tagged", tagged},
	{"packed", packed},
	{"shifted", shifted},
	{"by_promise", by_promise},
	{"ended_on_order", ended_on_order},
	{"typed_keys", typed_keys},
	{"line_numbers", line_numbers},
	{"lazy_as_text", lazy_as_text},
	{"polling_executor", polling_executor},
	{"pool_allocator", pool_allocator},
	{"io_uring_beside", io_uring_beside},
	{"in_a_pipe", in_a_pipe},
	{"in_a_thread", in_a_thread},
	{"closed_and_resumed", closed_and_resumed},
	{"listed_beside_closed", listed_beside_closed},
	{"destroyed", destroyed},
	{"armed_timers", armed_timers},
	{"forged", forged},
};

int main(int argc, char **argv)
{
	const auto &made = case_of(cases, argc > 1 ? argv[1] : "");
	count = argc > 2 ? atoi(argv[2]) : count;
	rests = argc > 3 && !strcmp(argv[3], "rests");
	if (argc > 3 && !strcmp(argv[3], "listens"))
		listen_in(ep);
	int timeout = argc > 3 && !strcmp(argv[3], "ticks") ? 25 : -1;
	if (argc > 3 && !strcmp(argv[3], "sends"))
		send_to_itself();
	if (argc > 3 && !strcmp(argv[3], "pauses"))
		std::thread([] {
			for (;;)
				pause();
		}).detach();
	keep_a_block();
	made.make();
	overwrite_stack();
	say_ready();
	for (;;) {
		epoll_event e;
		if (epoll_wait(ep, &e, 1, timeout) == 1 && order_fd >= 0)
			take_order();
	}
}

// SPDX-License-Identifier: MIT
//
// Servers of C++20 coroutines, each in a shape of its own, in which a descriptor is closed under those that wait
// for it, or a handle is lost by other means; and others that only look so. `servers20 CASE [N]` makes N (3) of
// each, says "ready" when its state is final, and sleeps in its loop. tests/e2e/check_servers20.py says what must
// be found.
#include <any>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "cases20.h"

using handle = std::coroutine_handle<>;

struct job { // starts at once, and owns itself
	struct promise_type {
		job get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

template <class T> struct task { // starts when it is awaited
	struct promise_type {
		handle next;
		T value{};
		task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		struct last {
			bool await_ready() noexcept { return false; }
			handle await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().next ? h.promise().next : std::noop_coroutine();
			}
			void await_resume() noexcept {}
		};
		last final_suspend() noexcept { return {}; }
		void return_value(T v) { value = v; }
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	explicit task(std::coroutine_handle<promise_type> h) : h(h) {}
	task(task &&o) noexcept : h(std::exchange(o.h, nullptr)) {}
	~task()
	{
		if (h)
			h.destroy();
	}
	bool await_ready() { return false; }
	handle await_suspend(handle c)
	{
		h.promise().next = c;
		return h;
	}
	T await_resume() { return h.promise().value; }
};

template <class F> struct hands { // the handle goes where F puts it
	F put;
	bool await_ready() { return false; }
	void await_suspend(handle h) { put(h); }
	void await_resume() {}
};
template <class F> hands(F) -> hands<F>;

// ------------------------------------------------------------------- the loop

static int ep = epoll_create1(EPOLL_CLOEXEC);
static int count = 3;

static void watch(int fd, uint64_t data)
{
	epoll_event e = {};
	e.events = EPOLLIN;
	e.data.u64 = data;
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
}

static void watch(int fd, void *data)
{
	watch(fd, (uint64_t)data);
}

static int pair_of()
{
	int sv[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv))
		abort();
	return sv[0];
}

AWAY static void drop(int fd)
{
	if (close(fd))
		abort();
}

// After a look at the table of descriptors, while they are open.
AWAY static void drop_all(std::vector<int> &fds)
{
	usleep(30000);
	for (int fd : fds)
		drop(fd);
	fds.clear();
}

static std::vector<int> fds;

static int opened()
{
	fds.push_back(pair_of());
	return fds.back();
}

// --------------------------------------------------------------------- faults

// The connection is kept by the coroutine that serves it; the registry does not keep it alive.
struct connection {
	int fd;
	handle waiter;
	explicit connection(int fd) : fd(fd) {}
};
static std::map<int, std::weak_ptr<connection>> registry;

static job serves(std::shared_ptr<connection> c)
{
	co_await hands{[&](handle h) {
		c->waiter = h;
		watch(c->fd, c.get());
	}};
}

AWAY static void weak_registry()
{
	for (int i = 0; i < count; i++) {
		auto c = std::make_shared<connection>(opened());
		registry[c->fd] = c;
		serves(std::move(c));
	}
	drop_all(fds);
	registry.clear();
}

// To cancel, a flag is set and the descriptor closed: the waiter is to see the flag when it is woken.
struct token {
	bool cancelled = false;
};
static std::vector<std::shared_ptr<token>> tokens;

static job until_cancelled(std::shared_ptr<token> t, int fd)
{
	while (!t->cancelled)
		co_await hands{[=](handle h) { watch(fd, h.address()); }};
}

AWAY static void cancelled_by_flag()
{
	for (int i = 0; i < count; i++) {
		tokens.push_back(std::make_shared<token>());
		until_cancelled(tokens.back(), opened());
	}
	usleep(30000);
	for (auto &t : tokens)
		t->cancelled = true;
	drop_all(fds);
}

// Three reads, joined by a latch. The descriptor of one is closed.
struct latch {
	int left;
	handle waiter;
};

static job reads_for(std::shared_ptr<latch> l, int fd)
{
	co_await hands{[=](handle h) { watch(fd, h.address()); }};
	if (!--l->left)
		l->waiter.resume();
}

static job joins()
{
	auto l = std::make_shared<latch>(latch{1, {}});
	reads_for(l, opened());
	co_await hands{[&](handle h) { l->waiter = h; }};
}

AWAY static void when_all()
{
	for (int i = 0; i < count; i++)
		joins();
	drop_all(fds);
}

// An object has its task as a member.
struct uploader {
	int fd;
	std::optional<task<int>> running;
	explicit uploader(int fd) : fd(fd) {}
	task<int> run()
	{
		co_await hands{[this](handle h) { watch(fd, h.address()); }};
		co_return fd;
	}
};
static std::list<std::unique_ptr<uploader>> uploads;

// The registration's data has a tag in its lowest bits.
static job waits_tagged(int fd)
{
	co_await hands{[=](handle h) { watch(fd, (uint64_t)h.address() | 3); }};
}

AWAY static void tagged_data()
{
	for (int i = 0; i < count; i++)
		waits_tagged(opened());
	drop_all(fds);
}

// The registration's data is the number; a table by number has the handles.
static std::vector<handle> by_number(1024);

static job waits_in_table(int fd)
{
	co_await hands{[=](handle h) {
		by_number[(size_t)fd] = h;
		watch(fd, (uint64_t)fd);
	}};
}

AWAY static void forget(int fd)
{
	by_number[(size_t)fd] = nullptr;
	if (close(fd))
		abort();
}

// Whoever holds a semaphore waits for a descriptor that is closed; its waiters stand in a static list.
struct semaphore {
	bool taken = false;
	std::deque<handle> waiters;
	bool await_ready() { return !std::exchange(taken, true); }
	void await_suspend(handle h) { waiters.push_back(h); }
	void await_resume() {}
};
static semaphore slots[16];

static job holds(semaphore &s, int fd)
{
	co_await s;
	co_await hands{[=](handle h) { watch(fd, h.address()); }};
	s.taken = false;
}

AWAY static void semaphore_held()
{
	for (int i = 0; i < count; i++) {
		int fd = opened();
		holds(slots[i], fd);
		holds(slots[i], fd);
	}
	drop_all(fds);
}

// A strand that was stopped throws away what was posted to it.
struct strand {
	bool stopped = false;
	std::queue<std::function<void()>> posted;
	void run()
	{
		while (!posted.empty()) {
			std::function<void()> f = std::move(posted.front());
			posted.pop();
			if (!stopped)
				f();
		}
	}
};
static strand one;

static job posts()
{
	co_await hands{[](handle h) { one.posted.push([h] { h.resume(); }); }};
}

AWAY static void strand_stopped()
{
	for (int i = 0; i < count; i++)
		posts();
	one.stopped = true;
	one.run();
	std::queue<std::function<void()>>().swap(one.posted);
}

// Eight tasks deep.
static task<int> level(int n, int fd)
{
	if (n)
		co_return co_await level(n - 1, fd);
	co_await hands{[=](handle h) { watch(fd, h.address()); }};
	co_return fd;
}

static job top(int fd)
{
	co_await level(7, fd);
}

AWAY static void deep()
{
	for (int i = 0; i < count; i++)
		top(opened());
	drop_all(fds);
}

// Two reads, of which one wins.
struct race {
	bool won = false;
	handle waiter;
};

static job reads_in_race(std::shared_ptr<race> r, int fd)
{
	co_await hands{[=](handle h) { watch(fd, h.address()); }};
	if (!std::exchange(r->won, true))
		r->waiter.resume();
}

static job races()
{
	auto r = std::make_shared<race>();
	reads_in_race(r, opened());
	reads_in_race(r, opened());
	co_await hands{[&](handle h) { r->waiter = h; }};
}

// ------------------------------------------------------------------ look-alikes

// Those of closed descriptors are queued, and resumed before the loop sleeps again.
static std::deque<handle> ready;

AWAY static void cancel_resumes()
{
	for (int i = 0; i < count; i++)
		waits_in_table(opened());
	usleep(30000);
	for (int fd : fds) {
		ready.push_back(by_number[(size_t)fd]);
		forget(fd);
	}
	fds.clear();
	while (!ready.empty()) {
		handle h = ready.front();
		ready.pop_front();
		h.resume();
	}
}

// Each also stands in a wheel of deadlines, behind an armed timer.
struct deadline {
	uint64_t at;
	handle h;
};
static std::vector<deadline> wheel[64];

static job waits_with_deadline(int fd)
{
	co_await hands{[=](handle h) {
		wheel[fd % 64].push_back({1000, h});
		watch(fd, h.address());
	}};
}

static void arm()
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	itimerspec t = {};
	t.it_value.tv_sec = 1000;
	timerfd_settime(fd, 0, &t, nullptr);
	watch(fd, (uint64_t)0);
}

AWAY static void deadlines()
{
	arm();
	for (int i = 0; i < count; i++)
		waits_with_deadline(opened());
	drop_all(fds);
}

AWAY static void live_race()
{
	for (int i = 0; i < count; i++)
		races();
}

AWAY static void live_join()
{
	for (int i = 0; i < count; i++)
		joins();
}

AWAY static void member_kept()
{
	for (int i = 0; i < count; i++) {
		uploads.push_back(std::make_unique<uploader>(opened()));
		uploads.back()->running.emplace(uploads.back()->run());
		uploads.back()->running->h.resume();
	}
}

// The description lives on under another number.
AWAY static void dup_open()
{
	for (int i = 0; i < count; i++) {
		waits_tagged(opened());
		if (dup(fds.back()) < 0)
			abort();
	}
	drop_all(fds);
}

// Its waiter is kept by one that waits for a descriptor.
static job keeps_state(std::shared_ptr<latch> l, int fd)
{
	co_await hands{[=](handle h) { watch(fd, h.address()); }};
	l->waiter.resume();
}

static job asks_state(std::shared_ptr<latch> l)
{
	co_await hands{[&](handle h) { l->waiter = h; }};
}

AWAY static void state_of_another()
{
	for (int i = 0; i < count; i++) {
		auto l = std::make_shared<latch>(latch{1, {}});
		keeps_state(l, opened());
		asks_state(std::move(l));
	}
}

static std::optional<task<int>> lazies[16];

AWAY static void lazy_member()
{
	for (int i = 0; i < count && i < 16; i++)
		lazies[i].emplace(level(0, -1));
}

// In the small buffers of std::any, std::variant and std::function.
static std::unordered_map<uint64_t, std::any> anys;
static std::vector<std::variant<int, handle>> variants;
static std::vector<std::function<void()>> functions;

static job waits_in_any(int i)
{
	co_await hands{[=](handle h) {
		if (i % 3 == 0)
			anys[(uint64_t)i] = h;
		else if (i % 3 == 1)
			variants.emplace_back(h);
		else
			functions.emplace_back([h] { h.resume(); });
	}};
}

AWAY static void in_any()
{
	for (int i = 0; i < count; i++)
		waits_in_any(i);
}

// A pool of threads sleeps: what is queued for it was not handed out yet.
static std::mutex m;
static std::condition_variable wake, asleep;
static bool paused = true;
static int sleeping;

AWAY static void pool_paused()
{
	for (int i = 0; i < 2; i++)
		std::thread([] {
			std::unique_lock<std::mutex> l(m);
			sleeping++;
			asleep.notify_all();
			while (paused || one.posted.empty())
				wake.wait(l);
		}).detach();
	for (int i = 0; i < count; i++)
		posts();
	std::unique_lock<std::mutex> l(m);
	while (sleeping < 2)
		asleep.wait(l);
}

// Frames in a chunk that the program has from malloc.
static char *chunk;
static size_t used;

struct chunked {
	struct promise_type : job::promise_type {
		chunked get_return_object() { return {}; }
		static void *operator new(size_t n)
		{
			chunk = chunk ? chunk : (char *)malloc(1 << 16);
			used += (n + 15) & ~(size_t)15;
			return chunk + used - ((n + 15) & ~(size_t)15);
		}
		static void operator delete(void *) {}
	};
};

static chunked waits_chunked(int fd)
{
	co_await hands{[=](handle h) { watch(fd, h.address()); }};
}

AWAY static void frames_in_chunk()
{
	for (int i = 0; i < count; i++)
		waits_chunked(opened());
	drop_all(fds);
}

// Whoever closes destroys those that wait.
AWAY static void close_destroys()
{
	for (int i = 0; i < count; i++)
		waits_in_table(opened());
	usleep(30000);
	for (int fd : fds) {
		handle h = by_number[(size_t)fd];
		forget(fd);
		h.destroy();
	}
	fds.clear();
}

static const struct {
	const char *name;
	void (*make)();
} cases[] = {
	{"weak_registry", weak_registry},
	{"cancelled_by_flag", cancelled_by_flag},
	{"when_all", when_all},
	{"tagged_data", tagged_data},
	{"semaphore_held", semaphore_held},
	{"strand_stopped", strand_stopped},
	{"deep", deep},
	{"cancel_resumes", cancel_resumes},
	{"deadlines", deadlines},
	{"live_race", live_race},
	{"live_join", live_join},
	{"member_kept", member_kept},
	{"dup_open", dup_open},
	{"state_of_another", state_of_another},
	{"lazy_member", lazy_member},
	{"in_any", in_any},
	{"pool_paused", pool_paused},
	{"frames_in_chunk", frames_in_chunk},
	{"close_destroys", close_destroys},
};

int main(int argc, char **argv)
{
	const auto &made = case_of(cases, argc > 1 ? argv[1] : "");
	count = argc > 2 ? atoi(argv[2]) : count;
	fds.reserve(64);
	tokens.reserve(64);
	keep_a_block();
	made.make();
	overwrite_stack();
	say_ready();
	for (;;) {
		epoll_event e;
		epoll_wait(ep, &e, 1, -1);
	}
}

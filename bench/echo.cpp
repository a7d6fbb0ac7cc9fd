// SPDX-License-Identifier: MIT
//
// A server of C++20 coroutines that ticks, and its client, which times the answers.
//	echo serve WAY MB       says "port N"; a coroutine for each connection, one that ticks each 10 to 25 ms, and a heap of MB.
//	                        WAY: loop, or worker: another thread answers, which waits at a semaphore of the C++ library
//	echo ask PORT SECONDS   asks 400 times a second, at instants that do not depend on the answers; prints the median,
//	                        99 %, 99.9 % and the longest, in us. A connection is asked 100 times, then closed
#include <arpa/inet.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include "now.h"

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static std::mt19937 chance(1);

static double between(double low, double high)
{
	return std::uniform_real_distribution<>(low, high)(chance);
}

static sockaddr_in here(int port)
{
	sockaddr_in a = {};
	a.sin_family = AF_INET;
	a.sin_port = htons((uint16_t)port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

// --------------------------------------------------------------------- server

using handle = std::coroutine_handle<>;

struct job {
	struct promise_type {
		job get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::abort(); }
	};
};

struct readable : std::suspend_always {
	int ep, fd;
	readable(int ep, int fd) : ep(ep), fd(fd) {}
	void await_suspend(handle h)
	{
		epoll_event e = {};
		e.events = EPOLLIN | EPOLLONESHOT;
		e.data.ptr = h.address();
		if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e))
			must(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
	}
};

static handle ticker;
static double tick_ns;

struct next_tick : std::suspend_always {
	void await_suspend(handle h)
	{
		ticker = h;
		tick_ns = now_ns() + between(10e6, 25e6);
	}
};

static std::counting_semaphore<> work(0);
static std::mutex lock;
static std::deque<std::pair<int, char>> answers;

static void answer(int fd, char c)
{
	must(write(fd, &c, 1) == 1, "write");
}

static void works()
{
	for (;;) {
		work.acquire();
		std::unique_lock<std::mutex> l(lock);
		auto [fd, c] = answers.front();
		answers.pop_front();
		l.unlock();
		answer(fd, c);
	}
}

static job serves(int ep, int fd, bool by_worker)
{
	for (char c;;) {
		co_await readable(ep, fd);
		if (read(fd, &c, 1) != 1)
			break;
		if (!by_worker) {
			answer(fd, c);
			continue;
		}
		std::unique_lock<std::mutex> l(lock);
		answers.emplace_back(fd, c);
		l.unlock();
		work.release();
	}
	close(fd);
}

static job accepts(int ep, int fd, bool by_worker)
{
	for (;;) {
		co_await readable(ep, fd);
		int c = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
		if (c >= 0)
			serves(ep, c, by_worker);
	}
}

static volatile long ticks;

static job tick()
{
	for (;;) {
		co_await next_tick();
		ticks = ticks + 1;
	}
}

static int serve(bool by_worker, size_t mb)
{
	std::vector<std::vector<size_t>> heap(mb * 16);
	for (auto &block : heap)
		for (block.resize(8192); auto &word : block)
			word = chance();
	int ep = epoll_create1(EPOLL_CLOEXEC), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	sockaddr_in a = here(0);
	socklen_t size = sizeof(a);
	must(!bind(fd, (sockaddr *)&a, size) && !listen(fd, 64) && !getsockname(fd, (sockaddr *)&a, &size), "listen");
	accepts(ep, fd, by_worker);
	tick();
	if (by_worker)
		std::thread(works).detach();
	printf("port %d\n", ntohs(a.sin_port));
	fflush(stdout);
	for (;;) {
		epoll_event v[64];
		double left = (tick_ns - now_ns()) / 1e6;
		int n = epoll_wait(ep, v, 64, left < 0 ? 0 : (int)left + 1);
		for (int i = 0; i < n; i++)
			handle::from_address(v[i].data.ptr).resume();
		if (now_ns() >= tick_ns)
			ticker.resume();
	}
}

// --------------------------------------------------------------------- client

enum { CONNECTIONS = 8, TURNS = 100, RATE = 400 };

struct connection {
	int fd, turns;
	std::deque<double> asked; // when each question was due that has no answer yet
};

static void open_anew(connection &c, int port)
{
	if (c.fd > 0)
		close(c.fd);
	sockaddr_in a = here(port);
	c = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 0, {}};
	must(!connect(c.fd, (sockaddr *)&a, sizeof(a)), "connect");
}

// What has come until then.
static void hear(std::vector<connection> &all, double until, std::vector<double> &took)
{
	pollfd p[CONNECTIONS];
	for (size_t i = 0; i < all.size(); i++)
		p[i] = {all[i].fd, POLLIN, 0};
	double left = std::max(until - now_ns(), 0.);
	timespec t = {(time_t)(left / 1e9), (long)left % 1000000000};
	if (ppoll(p, all.size(), &t, nullptr) <= 0)
		return;
	for (size_t i = 0; i < all.size(); i++) {
		char c[64];
		ssize_t n = p[i].revents ? read(p[i].fd, c, sizeof(c)) : 0;
		must(!p[i].revents || n > 0, "read");
		for (double now = now_ns(); n-- > 0; all[i].asked.pop_front())
			took.push_back((now - all[i].asked.front()) / 1e3);
	}
}

static int ask(int port, double seconds)
{
	std::vector<connection> all(CONNECTIONS);
	std::vector<double> took;
	for (auto &c : all)
		open_anew(c, port);
	double due = now_ns(), end = due + seconds * 1e9, last = end + 5e9;
	for (size_t i = 0; due < end; i++) {
		due += std::exponential_distribution<>((double)RATE / 1e9)(chance);
		while (now_ns() < due)
			hear(all, due, took);
		connection &c = all[i % CONNECTIONS];
		if (c.turns >= TURNS && c.asked.empty())
			open_anew(c, port);
		must(write(c.fd, "x", 1) == 1, "write");
		c.asked.push_back(due);
		c.turns++;
	}
	auto waits = [&] { return std::any_of(all.begin(), all.end(), [](auto &c) { return !c.asked.empty(); }); };
	while (waits() && now_ns() < last)
		hear(all, last, took);
	must(!waits(), "answers are missing");
	std::sort(took.begin(), took.end());
	auto of = [&](double part) { return took[std::min(took.size() - 1, (size_t)(part * (double)took.size()))]; };
	printf("%.1f %.1f %.1f %.1f\n", of(.5), of(.99), of(.999), took.back());
	return 0;
}

int main(int argc, char **argv)
{
	bool serves = argc == 4 && !strcmp(argv[1], "serve");
	if (serves)
		return serve(!strcmp(argv[2], "worker"), (size_t)atol(argv[3]));
	return argc == 4 && !strcmp(argv[1], "ask") ? ask(atoi(argv[2]), atof(argv[3])) : 2;
}

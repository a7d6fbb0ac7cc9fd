// SPDX-License-Identifier: MIT
//
// attach_fibers.cpp - a server with Boost.Context linked into itself, and threads that switch as fast as they can.
//   attach_fibers CONNECTIONS THREADS
// Says "ready"; then does what it reads: a letter each.
//   t  a byte for every second connection: "touched" once all are served
//   c  closes every second descriptor under its coroutine, and forgets that: "closed"
//   q  ends: "balanced", 0, if no switch of the threads went astray
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/context/fiber.hpp>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace context = boost::context;

struct connection {
	int fd, peer;
	long served;
	context::fiber self, loop;
};

static int set;
static std::vector<connection *> all;

__attribute__((noinline)) static void wait_readable(connection *c)
{
	epoll_event e = {};
	e.events = EPOLLIN | EPOLLONESHOT;
	e.data.ptr = c;
	epoll_ctl(set, EPOLL_CTL_MOD, c->fd, &e);
	c->loop = std::move(c->loop).resume();
}

static void serve(connection *c)
{
	char byte;
	for (;;)
		if (read(c->fd, &byte, 1) == 1)
			c->served++;
		else
			wait_readable(c);
}

static void add(int)
{
	int p[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p))
		abort();
	auto *c = new connection{p[0], p[1], 0, {}, {}};
	epoll_event e = {};
	e.events = EPOLLONESHOT;
	e.data.ptr = c;
	epoll_ctl(set, EPOLL_CTL_ADD, c->fd, &e);
	c->self = context::fiber([c](context::fiber &&loop) {
		c->loop = std::move(loop);
		serve(c);
		return std::move(c->loop);
	});
	c->self = std::move(c->self).resume();
	all.push_back(c);
}

static void turn()
{
	epoll_event e[16];
	int n = epoll_wait(set, e, 16, -1);
	for (int i = 0; i < n; i++) {
		auto *c = static_cast<connection *>(e[i].data.ptr);
		if (c)
			c->self = std::move(c->self).resume();
	}
}

static void touch()
{
	for (size_t i = 0; i < all.size(); i += 2) {
		long was = all[i]->served;
		if (write(all[i]->peer, "x", 1) != 1)
			abort();
		while (all[i]->served == was)
			turn();
	}
	std::puts("touched");
}

__attribute__((noinline)) static void drop_all()
{
	for (size_t i = 1; i < all.size(); i += 2)
		close(all[i]->fd);
	std::puts("closed");
}

static std::atomic<bool> over;

// Four fibers in turn; each adds one, and the sum of what they say is the number of turns.
static void spin(bool *balanced)
{
	long said[4] = {}, turns = 0;
	context::fiber f[4];
	for (int i = 0; i < 4; i++)
		f[i] = context::fiber([&said, i](context::fiber &&loop) {
			for (;;) {
				said[i]++;
				loop = std::move(loop).resume();
			}
			return std::move(loop);
		});
	while (!over) {
		f[turns % 4] = std::move(f[turns % 4]).resume();
		turns++;
	}
	*balanced = said[0] + said[1] + said[2] + said[3] == turns && said[0] - said[3] <= 1;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	int n = atoi(argv[2]);
	auto *balanced = new bool[n + 1]();
	std::vector<std::thread> threads;
	setvbuf(stdout, nullptr, _IOLBF, 0);
	set = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < atoi(argv[1]); i++)
		add(i);
	epoll_event e = {};
	e.events = EPOLLIN;
	epoll_ctl(set, EPOLL_CTL_ADD, 0, &e);
	for (int i = 0; i < n; i++)
		threads.emplace_back(spin, &balanced[i]);
	std::puts("ready");
	for (char order = 0; order != 'q';) {
		epoll_event event;
		if (epoll_wait(set, &event, 1, -1) < 1 || event.data.ptr || read(0, &order, 1) != 1)
			continue;
		if (order == 't')
			touch();
		if (order == 'c')
			drop_all();
	}
	over = true;
	bool good = true;
	for (int i = 0; i < n; i++) {
		threads[i].join();
		good &= balanced[i];
	}
	std::puts(good ? "balanced" : "astray");
	fflush(stdout);
	_exit(!good);
}

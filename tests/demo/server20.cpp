// SPDX-License-Identifier: MIT
//
// The server of server.c with C++20 coroutines, which have no stack: a frame of the heap per connection, known
// only to the registration of its socket. It knows nothing of ctp, and has the same bug.
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

static int listener;
static std::atomic<unsigned long> requests;
static std::atomic<int> open_conns;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

// ---- coroutines

struct connection { // starts at once, and owns itself
	struct promise_type {
		connection get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

// What a registration's data points to: it lies in the frame of the coroutine that waits.
struct readable {
	int ep, fd;
	std::coroutine_handle<> waiter = nullptr;

	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h)
	{
		epoll_event ev = {};
		ev.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
		ev.data.ptr = this;
		waiter = h;
		if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev) != 0 &&
		    (errno != ENOENT || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) != 0))
			die("epoll_ctl");
	}
	void await_resume() {}
};

static connection serve(int ep, int fd)
{
	char line[256];
	for (;;) {
		co_await readable{ep, fd};
		ssize_t n = read(fd, line, sizeof(line));
		if (n <= 0 || write(fd, line, (size_t)n) != n)
			break;
		requests++;
		if (memcmp(line, "quit", 4) == 0)
			break;
	}
	close(fd);
	open_conns--;
}

// ---- in the worker

static void conn_drop(readable *r)
{
	close(r->fd); // the peer is gone: nothing more to do here (there is)
}

static void accept_one(int ep)
{
	int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	open_conns++;
	serve(ep, fd); // to its first wait
}

static void on_event(int ep, const epoll_event &ev)
{
	if (!ev.data.ptr)
		accept_one(ep);
	else if (ev.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		conn_drop((readable *)ev.data.ptr);
	else
		((readable *)ev.data.ptr)->waiter.resume();
}

static void worker_main()
{
	epoll_event evs[64], listening = {};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	listening.events = EPOLLIN | EPOLLEXCLUSIVE;
	if (epoll_ctl(ep, EPOLL_CTL_ADD, listener, &listening) != 0)
		die("epoll_ctl");
	for (;;) {
		int n = epoll_wait(ep, evs, 64, -1);
		for (int i = 0; i < n; i++)
			on_event(ep, evs[i]);
	}
}

// ---- start, and a line each second

static int listen_on(int port)
{
	sockaddr_in a = {};
	socklen_t len = sizeof(a);
	int on = 1;
	a.sin_family = AF_INET;
	a.sin_port = htons((uint16_t)port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (listener < 0 || bind(listener, (sockaddr *)&a, len) != 0 || listen(listener, 128) != 0)
		die("listen");
	getsockname(listener, (sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

int main(int argc, char **argv)
{
	int port = listen_on(argc > 1 ? atoi(argv[1]) : 0);
	for (int i = 0; i < 4; i++)
		std::thread(worker_main).detach();
	printf("listening on 127.0.0.1:%d\n", port);
	for (;;) {
		fflush(stdout);
		sleep(1);
		printf("%lu requests/s, %d connections open\n", requests.exchange(0), open_conns.load());
	}
}

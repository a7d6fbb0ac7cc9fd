// SPDX-License-Identifier: MIT
//
// A small echo server as people write them: four worker threads, each with an
// epoll set of its own, and a coroutine per connection, known only to the
// registration of its socket. It knows nothing of ctp.
//
// It has a bug. When a peer hangs up, the worker closes the connection right
// away, and forgets the coroutine that waits on it.
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#define WORKERS 4
#define STACK_BYTES (64 << 10)

struct worker {
	pthread_t thread;
	int ep;
};

// What a registration's data points to.
struct source {
	void (*on_event)(struct source *s, struct worker *w, uint32_t events);
};

struct conn {
	struct source source;
	int fd, ep;
	int done;
	ucontext_t self, *loop;
	char *stack;
};

static struct worker workers[WORKERS];
static int listener;
static unsigned long requests;
static int open_conns;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

// ---- in the coroutine

static void wait_readable(struct conn *c)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c};
	if (epoll_ctl(c->ep, EPOLL_CTL_MOD, c->fd, &ev) != 0 &&
	    (errno != ENOENT || epoll_ctl(c->ep, EPOLL_CTL_ADD, c->fd, &ev) != 0))
		die("epoll_ctl");
	swapcontext(&c->self, c->loop);
}

static void serve(struct conn *c)
{
	char line[256];
	for (;;) {
		wait_readable(c);
		ssize_t n = read(c->fd, line, sizeof(line));
		if (n <= 0 || write(c->fd, line, (size_t)n) != n)
			break;
		__atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
		if (memcmp(line, "quit", 4) == 0)
			break;
	}
	close(c->fd);
}

static void conn_main(unsigned lo, unsigned hi)
{
	struct conn *c = (struct conn *)((uintptr_t)lo | (uintptr_t)hi << 32);
	serve(c);
	__atomic_fetch_sub(&open_conns, 1, __ATOMIC_RELAXED);
	c->done = 1;
	setcontext(c->loop);
}

// ---- in the worker

static void conn_resume(struct conn *c)
{
	ucontext_t here;
	c->loop = &here;
	swapcontext(&here, &c->self);
	if (c->done) {
		munmap(c->stack, STACK_BYTES);
		free(c);
	}
}

static void conn_drop(struct conn *c)
{
	close(c->fd); // the peer is gone: nothing more to do here (there is)
}

static void on_conn(struct source *s, struct worker *w, uint32_t events)
{
	struct conn *c = (struct conn *)s;
	(void)w;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		conn_drop(c);
	else
		conn_resume(c);
}

static void conn_open(struct worker *w, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));
	c->source.on_event = on_conn;
	c->fd = fd;
	c->ep = w->ep;
	c->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->stack == MAP_FAILED || getcontext(&c->self) != 0)
		die("coroutine");
	c->self.uc_stack.ss_sp = c->stack;
	c->self.uc_stack.ss_size = STACK_BYTES;
	makecontext(&c->self, (void (*)(void))conn_main, 2, (unsigned)(uintptr_t)c,
		    (unsigned)((uintptr_t)c >> 32));
	__atomic_fetch_add(&open_conns, 1, __ATOMIC_RELAXED);
	conn_resume(c); // to its first wait
}

static void on_listener(struct source *s, struct worker *w, uint32_t events)
{
	(void)s;
	(void)events;
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		conn_open(w, fd);
}

static struct source listening = {on_listener};

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct epoll_event evs[64];
	for (;;) {
		int n = epoll_wait(w->ep, evs, 64, -1);
		for (int i = 0; i < n; i++) {
			struct source *s = evs[i].data.ptr;
			s->on_event(s, w, evs[i].events);
		}
	}
	return NULL;
}

// ---- start, and a line each second

static int listen_on(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int on = 1;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, len) != 0 || listen(listener, 128) != 0)
		die("listen");
	getsockname(listener, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

int main(int argc, char **argv)
{
	int port = listen_on(argc > 1 ? atoi(argv[1]) : 0);
	for (int i = 0; i < WORKERS; i++) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = &listening};
		workers[i].ep = epoll_create1(EPOLL_CLOEXEC);
		if (epoll_ctl(workers[i].ep, EPOLL_CTL_ADD, listener, &ev) != 0)
			die("epoll_ctl");
		pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
	}
	printf("listening on 127.0.0.1:%d\n", port);
	for (;;) {
		fflush(stdout);
		sleep(1);
		printf("%lu requests/s, %d connections open\n",
		       __atomic_exchange_n(&requests, 0, __ATOMIC_RELAXED),
		       __atomic_load_n(&open_conns, __ATOMIC_RELAXED));
	}
}

// SPDX-License-Identifier: MIT
//
// events_http.c - an HTTP server that tells of its requests as tasks (ctp_task_begin, ctp/event.h): a coroutine for
// each connection, on one thread. Its argument says how many connections it serves until it ends. What a request does
// while it is worked on is in its path:
//	/wait/...     asks a backend, and waits for the answer in its loop
//	/compute/...  computes
//	/block/...    reads the backend's answer from a pipe that blocks: the whole thread sleeps
// Prints the port, and at the end for each request its path and its ns by the program's own clock: from before its task
// began to after it ended, from after it began to before it ended, and of that what the blocking call took.
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <ctp/event.h>

#include "co.h"
#include "must.h"

enum { REQUESTS_MOST = 1024 };

static int ep, left;
static struct {
	char path[64];
	uint64_t outer, inner, blocked;
} told[REQUESTS_MOST];
static unsigned ntold;

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// ------------------------------------------------------------------ the backend, which takes 2 ms for an answer

static void *backend(void *arg)
{
	const int *fd = arg;
	char c;
	while (read(fd[0], &c, 1) == 1) {
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		must(write(fd[1], &c, 1));
	}
	return NULL;
}

// A backend of its own: `to` is written, `from` is read.
static void backend_start(int *to, int *from)
{
	int ask[2], *ends = malloc(2 * sizeof(int)), answer[2];
	pthread_t t;
	must(pipe(ask));
	must(pipe(answer));
	*to = ask[1];
	*from = answer[0];
	ends[0] = ask[0];
	ends[1] = answer[1];
	must(pthread_create(&t, NULL, backend, ends) ? -1 : 0);
	pthread_detach(t);
}

// ------------------------------------------------------------------ what requests do

static void compute(void)
{
	static volatile uint64_t sink;
	for (int i = 0; i < 200000; i++)
		sink += (uint64_t)i;
}

static NOINLINE void ask_and_wait(const int link[2])
{
	char c = 0;
	must(write(link[0], &c, 1));
	must(co_read(ep, link[1], &c, 1));
}

static NOINLINE uint64_t ask_and_block(void)
{
	static int to, from;
	char c = 0;
	if (!to)
		backend_start(&to, &from);
	uint64_t since = now_ns();
	must(write(to, &c, 1));
	must(read(from, &c, 1));
	return now_ns() - since;
}

// ------------------------------------------------------------------ HTTP

// The path of the next request; NULL: there is no more.
static char *next_request(int fd, char *buf, size_t bytes)
{
	size_t have = 0;
	do {
		ssize_t n = co_read(ep, fd, buf + have, bytes - 1 - have);
		if (n <= 0)
			return NULL;
		have += (size_t)n;
		buf[have] = 0;
	} while (!strstr(buf, "\r\n\r\n"));
	char *path = strchr(buf, ' ') + 1;
	path[strcspn(path, " ")] = 0;
	return path;
}

static void handle(int fd, const char *path, const int link[2])
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	uint64_t outer = now_ns(), inner, blocked = 0;
	ctp_task t = ctp_task_begin(path);
	inner = now_ns();
	if (!strncmp(path, "/wait", 5))
		ask_and_wait(link);
	else if (!strncmp(path, "/block", 6))
		blocked = ask_and_block();
	else
		compute();
	must(write(fd, answer, sizeof(answer) - 1));
	inner = now_ns() - inner;
	ctp_task_end(t);
	outer = now_ns() - outer;
	snprintf(told[ntold].path, sizeof(told->path), "%s", path);
	told[ntold].outer = outer;
	told[ntold].inner = inner;
	told[ntold].blocked = blocked;
	ntold += ntold + 1 < REQUESTS_MOST;
}

static void serve(void *arg)
{
	int fd = (int)(long)arg, link[2];
	char buf[1024], *path;
	backend_start(&link[0], &link[1]);
	must(fcntl(link[1], F_SETFL, O_NONBLOCK));
	while ((path = next_request(fd, buf, sizeof(buf))))
		handle(fd, path, link);
	close(link[0]);
	close(fd);
	left--;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(at);
	int connections = argc > 1 ? atoi(argv[1]) : 1, listener = (int)must(socket(AF_INET, SOCK_STREAM, 0));
	co_choose("ucontext");
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(bind(listener, (struct sockaddr *)&at, bytes));
	must(listen(listener, connections));
	must(getsockname(listener, (struct sockaddr *)&at, &bytes));
	printf("port %d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (left = connections; connections; connections--)
		co_start(serve, (void *)must(accept4(listener, NULL, NULL, SOCK_NONBLOCK)));
	while (left)
		co_turn(ep, -1);
	for (unsigned i = 0; i < ntold; i++)
		printf("%s %lu %lu %lu\n", told[i].path, told[i].outer, told[i].inner, told[i].blocked);
	return 0;
}

// SPDX-License-Identifier: MIT
//
// must.c - see must.h. Loopback only, and only ports that the kernel chose.
#include "must.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

long must_at(long r, const char *expr, const char *file, int line)
{
	if (r < 0) {
		fprintf(stderr, "%s:%d: %s: %s\n", file, line, expr, strerror(errno));
		_exit(99);
	}
	return r;
}

void *must_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);
	if (!p)
		must(-1);
	return p;
}

void *must_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (p == MAP_FAILED)
		must(-1);
	return p;
}

void say(const char *line)
{
	char buf[256];
	int n = snprintf(buf, sizeof(buf), "%s\n", line);
	must(write(1, buf, (size_t)n));
}

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	must(getsockname(fd, (struct sockaddr *)&a, &len));
	return ntohs(a.sin_port);
}

int tcp_listen(int *port)
{
	struct sockaddr_in a = loopback(0);
	int fd = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	must(bind(fd, (struct sockaddr *)&a, sizeof(a)));
	must(listen(fd, 128));
	*port = port_of(fd);
	return fd;
}

int tcp_connect(int port)
{
	struct sockaddr_in a = loopback(port);
	int fd = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	must(connect(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

// The listener stays open: one that closes would be the sign of a shutdown.
static void tcp_pair(int fds[2])
{
	static int listener = -1, port;
	if (listener < 0) {
		listener = tcp_listen(&port);
		must(fcntl(listener, F_SETFL, 0));
	}
	fds[1] = tcp_connect(port);
	fds[0] = (int)must(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	must(fcntl(fds[1], F_SETFL, O_NONBLOCK));
}

static void udp_pair(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in a = loopback(0);
		fds[i] = (int)must(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
		must(bind(fds[i], (struct sockaddr *)&a, sizeof(a)));
	}
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in a = loopback(port_of(fds[1 - i]));
		must(connect(fds[i], (struct sockaddr *)&a, sizeof(a)));
	}
}

void pair(const char *kind, int fds[2])
{
	if (!strcmp(kind, "pipe"))
		must(pipe2(fds, O_NONBLOCK | O_CLOEXEC));
	else if (!strcmp(kind, "unix"))
		must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
	else if (!strcmp(kind, "tcp"))
		tcp_pair(fds);
	else if (!strcmp(kind, "udp"))
		udp_pair(fds);
	else if (!strcmp(kind, "eventfd"))
		fds[0] = fds[1] = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	else
		abort();
}

void nap_ms(int ms)
{
	while (ms-- > 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

// The first word of the file is the call's number, where the thread sleeps in one.
void until_reads(int tid)
{
	char path[64], text[32], number[16];
	int length = snprintf(number, sizeof(number), "%d ", (int)SYS_read);
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	do {
		FILE *f = fopen(path, "r");
		*text = 0;
		must(f && fgets(text, sizeof(text), f) ? 0 : -1);
		fclose(f);
	} while (strncmp(text, number, (size_t)length));
}

// SPDX-License-Identifier: MIT
//
// cases20.h - what targets of C++20 coroutines have in common: cases by name, and a stack and a heap in which
// nothing but the case itself leads to a frame.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define AWAY __attribute__((noinline))

// The case of that name; without one the program ends.
template <class C, size_t N> static const C &case_of(const C (&cases)[N], const char *name)
{
	for (const C &c : cases)
		if (!strcmp(c.name, name))
			return c;
	exit(2);
}

// The end of a block that lies before a frame would be the frame's start: one that the program keeps comes first.
static inline void keep_a_block()
{
	static void *volatile between = malloc(64);
	(void)between;
}

// What the calls before it have left there is gone.
AWAY static void overwrite_stack()
{
	volatile char zeros[1 << 15];
	for (size_t i = 0; i < sizeof(zeros); i++)
		zeros[i] = 0;
}

// From now on somebody outside may wake the loop of that epoll set: it does not sleep for good.
static inline void listen_in(int ep)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	epoll_event e{};
	e.events = EPOLLIN;
	if (fd < 0 || listen(fd, 1) || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e))
		abort();
}

// Bytes wait in a connection of which it has both ends.
static inline void send_to_itself()
{
	static const char text[] = "a line that nobody reads\n";
	sockaddr_in at{};
	socklen_t bytes = sizeof(at);
	at.sin_family = AF_INET;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	auto *a = (sockaddr *)&at;
	if (bind(l, a, bytes) || listen(l, 1) || getsockname(l, a, &bytes) || connect(c, a, bytes) ||
	    accept(l, nullptr, nullptr) < 0 || send(c, text, sizeof(text), 0) != sizeof(text))
		abort();
}

static inline void say_ready()
{
	puts("ready");
	fflush(stdout);
}

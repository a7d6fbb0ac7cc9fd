// SPDX-License-Identifier: MIT
// expect: CTP015 proven, 2 coroutines
// engine: both
// patched: slot slot_back struct saved
//
// Two nodes exchange their whole state, each writing all of its own before it
// reads the other's. The state has outgrown the pipes: both are full, both
// writers wait for a reader, and the readers would be they.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STATE_BYTES = 1 << 20, ROUNDS = 2 };

static int ep, to_left[2], to_right[2];
static char state[STATE_BYTES];

static void write_all(int fd, size_t n)
{
	for (size_t at = 0; at < n;)
		at += (size_t)must(co_write(ep, fd, state + at, n - at));
}

static void read_all(int fd, size_t n)
{
	static char buf[4096];
	for (size_t at = 0; at < n;)
		at += (size_t)must(co_read(ep, fd, buf, n - at < sizeof(buf) ? n - at : sizeof(buf)));
}

static void left_node(void *arg)
{
	(void)arg;
	for (int round = 0;; round++) {
		size_t n = round < ROUNDS ? 512 : STATE_BYTES;
		write_all(to_right[1], n); // fault
		read_all(to_left[0], n);
	}
}

static void right_node(void *arg)
{
	(void)arg;
	for (int round = 0;; round++) {
		size_t n = round < ROUNDS ? 512 : STATE_BYTES;
		if (round == ROUNDS)
			say("ready");
		write_all(to_left[1], n); // fault
		read_all(to_right[0], n);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe2(to_left, O_NONBLOCK | O_CLOEXEC));
	must(pipe2(to_right, O_NONBLOCK | O_CLOEXEC));
	co_start(left_node, NULL);
	co_start(right_node, NULL);
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: CTP005 likely..proven, 1 coroutine
// engine: both
//
// After kaappi/kaappi issue 1462: one fiber waits to read and one to write the
// same socket, both in one registration, IN and OUT, one-shot. The reader goes
// away without touching the registration; then input comes. The event disarms
// the whole row; the reactor finds no reader, and goes on without arming it
// again. When the peer makes room, the writer is not told. "A silent hang."
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct {
	struct co *reader, *writer;
} waits; // of the one connection
static int ep, conn, peer;
static bool cancelled;

static void arm(void)
{
	struct epoll_event ev = {.events = EPOLLONESHOT, .data.fd = conn};
	ev.events |= waits.reader ? (uint32_t)EPOLLIN : 0;
	ev.events |= waits.writer ? (uint32_t)EPOLLOUT : 0;
	if (epoll_ctl(ep, EPOLL_CTL_MOD, conn, &ev) != 0)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, conn, &ev));
}

static void reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (!cancelled && co_blocked(read(conn, buf, sizeof(buf)))) {
		waits.reader = co_self();
		arm();
		co_yield();
		waits.reader = NULL;
	}
}

static void writer(void *arg)
{
	static char block[32 << 10];
	(void)arg;
	for (;;) {
		if (!co_blocked(write(conn, block, sizeof(block))))
			continue;
		waits.writer = co_self();
		arm();
		co_yield();
		waits.writer = NULL;
	}
}

static void reactor_turn(void)
{
	struct epoll_event ev;
	struct co *fired = NULL;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if ((ev.events & EPOLLIN) && waits.reader)
		fired = waits.reader;
	else if ((ev.events & EPOLLOUT) && waits.writer)
		fired = waits.writer;
	if (!fired)
		return;
	co_resume(fired);
	if (waits.reader || waits.writer)
		arm();
}

static void cancel_reader(void)
{
	cancelled = true;
	co_resume(waits.reader);
}

static void drain(void)
{
	char buf[32 << 10];
	while (read(peer, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	conn = fds[0];
	peer = fds[1];
	co_start(writer, NULL);
	co_start(reader, NULL);
	cancel_reader();
	must(write(peer, "input", 5));
	reactor_turn();
	drain(); // now there is room
	say("ready");
	for (;;)
		reactor_turn();
}

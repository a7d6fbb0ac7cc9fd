// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// end: timeout
//
// A loop that never sleeps, and edge-triggered feeds that take two packets at most in
// each turn. One that has taken two stays in the run queue, and comes back to the rest
// in the next turn; one that found less waits for its next edge.
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define FEEDS 3

static struct feed {
	struct co *co;
	int fd, peer;
	bool ready;
} feeds[FEEDS];
static int ep;

static void run_feed(void *arg)
{
	struct feed *f = arg;
	char packet[64];
	for (;;) {
		int n = 0;
		co_yield();
		while (n < 2 && read(f->fd, packet, sizeof(packet)) > 0)
			n++;
		f->ready = n == 2;
	}
}

static NOINLINE void open_feed(int i)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u32 = (uint32_t)i};
	int fds[2];
	pair("unix", fds);
	feeds[i] = (struct feed){.fd = fds[0], .peer = fds[1]};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &ev));
	feeds[i].co = co_new(run_feed, &feeds[i]);
	co_resume(feeds[i].co);
}

static NOINLINE void turn(void)
{
	struct epoll_event ev[FEEDS];
	int n = epoll_wait(ep, ev, FEEDS, 0);
	for (int i = 0; i < n; i++)
		feeds[ev[i].data.u32].ready = true;
	for (int i = 0; i < FEEDS; i++)
		if (feeds[i].ready)
			co_resume(feeds[i].co);
}

int main(void)
{
	static char packets[7 * 64];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < FEEDS; i++)
		open_feed(i);
	say("ready");
	for (unsigned long turns = 0;; turns++) {
		if (turns % 100 < FEEDS - 1) // the last one stays silent
			must(write(feeds[turns % 100].peer, packets, (1 + turns / 100 % 7) * 64));
		turn();
	}
}

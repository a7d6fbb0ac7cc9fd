// SPDX-License-Identifier: MIT
// expect: CTP004 suspect..likely, 1 coroutine
// engine: both
// end: timeout
//
// A loop that never sleeps, and edge-triggered feeds. To be fair a feed takes two
// packets for each event; the peer of one sent five, and waits for the answer. That
// of another sends one at a time.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define FEEDS 2

static struct feed {
	struct co *co;
	int fd, peer, packets;
} feeds[FEEDS];
static int ep;

static void run_feed(void *arg)
{
	struct feed *f = arg;
	char packet[64];
	for (;;) {
		co_yield(); // fault
		for (int i = 0; i < 2 && read(f->fd, packet, sizeof(packet)) > 0; i++)
			f->packets++;
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
		co_resume(feeds[ev[i].data.u32].co);
}

static void send_packets(const struct feed *f, int n)
{
	static char packets[5 * 64];
	must(write(f->peer, packets, (size_t)n * 64));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < FEEDS; i++) {
		open_feed(i);
		send_packets(&feeds[i], 1);
		while (!feeds[i].packets)
			turn();
	}
	send_packets(&feeds[0], 5);
	while (feeds[0].packets < 3)
		turn();
	say("ready");
	for (unsigned long turns = 0;; turns++) {
		if (turns % 1000 == 0)
			send_packets(&feeds[1], 1);
		turn();
	}
}

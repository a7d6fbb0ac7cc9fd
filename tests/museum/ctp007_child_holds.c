// SPDX-License-Identifier: MIT
// expect: CTP007 likely, 2 coroutines
// engine: both
//
// A helper process is forked for each of two feeds. It drops the epoll set, as
// it should, but not the feed; the parent closes its own number when the feed's
// reader has had enough. The producer writes on, and each message wakes the
// parent's loop with the data of a reader that waits for something else now.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { FEEDS = 2, STRAYS = 3 };

static int ep, feeds[FEEDS][2], retry[FEEDS], answer[2], woken[FEEDS];
static struct co *readers[FEEDS];

static void helper(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ep);
	for (;;)
		pause();
}

static NOINLINE void feed_drop(int fd)
{
	close(fd); // fault
}

static void feed_reader(void *arg)
{
	uint64_t n;
	char message[64];
	int i = (int)(intptr_t)arg;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = (uint64_t)i};
	readers[i] = co_self();
	must(epoll_ctl(ep, EPOLL_CTL_ADD, feeds[i][0], &ev));
	while (co_blocked(read(feeds[i][0], message, sizeof(message))))
		co_yield();
	feed_drop(feeds[i][0]);
	readers[i] = NULL;
	must(write(answer[1], "", 1));
	ev.data.u64 = FEEDS + (uint64_t)i;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, retry[i], &ev));
	while (co_blocked(read(retry[i], &n, sizeof(n))))
		co_yield();
}

static void *producer(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i < FEEDS; i++)
		for (int k = 0; k < 1 + STRAYS; k++) {
			must(write(feeds[i][1], "message", 7));
			must(read(answer[0], &byte, 1));
		}
	say("ready");
	return NULL;
}

int main(void)
{
	struct epoll_event ev;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(answer));
	for (int i = 0; i < FEEDS; i++) {
		pair("unix", feeds[i]);
		retry[i] = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
		co_start(feed_reader, (void *)(intptr_t)i);
	}
	if (must(fork()) == 0)
		helper();
	co_thread(producer, NULL);
	for (;;) {
		if (epoll_wait(ep, &ev, 1, -1) < 1)
			continue;
		if (ev.data.u64 < FEEDS && readers[ev.data.u64])
			co_resume(readers[ev.data.u64]);
		else if (ev.data.u64 < FEEDS && ++woken[ev.data.u64] <= STRAYS)
			must(write(answer[1], "", 1));
	}
}

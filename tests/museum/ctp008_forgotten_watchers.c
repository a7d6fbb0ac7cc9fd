// SPDX-License-Identifier: MIT
// expect: CTP008 suspect..likely, 2 coroutines
// engine: both
//
// A loop keeps its watchers by number and, as libev does, registers what is new before
// it sleeps, and takes a registration out only when an event comes that nobody wants.
// A proxy throws away a page of its cache, stops the watchers of all who fetch it, and
// forgets them: the page comes, and its event is the last. Others are served on.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WATCHERS 64
#define FETCHES 2

static struct watcher {
	struct co *waiter;
	bool changed, registered;
} watchers[WATCHERS];
static int ep, client[2], upstream[FETCHES][2], echoes;

static ssize_t read_some(int fd, char *buf, size_t bytes)
{
	ssize_t n;
	while (co_blocked(n = read(fd, buf, bytes))) {
		watchers[fd].waiter = co_self();
		watchers[fd].changed = true;
		co_yield(); // fault
	}
	return n;
}

static void fetch(void *arg)
{
	char page[16];
	read_some(*(int *)arg, page, sizeof(page));
}

static void echo(void *arg)
{
	char c;
	while (read_some(*(int *)arg, &c, 1) > 0)
		echoes++;
}

static void register_changed(void)
{
	for (int fd = 0; fd < WATCHERS; fd++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (uint64_t)fd | 1ULL << 32};
		if (watchers[fd].changed && !watchers[fd].registered)
			must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
		watchers[fd].registered |= watchers[fd].changed;
		watchers[fd].changed = false;
	}
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	register_changed();
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	struct watcher *w = &watchers[(uint32_t)ev.data.u64];
	struct co *waiter = w->waiter;
	w->waiter = NULL;
	if (waiter)
		co_resume(waiter);
	else
		w->registered = must(epoll_ctl(ep, EPOLL_CTL_DEL, (int)(uint32_t)ev.data.u64, NULL)) != 0;
}

static void ask(void)
{
	int served = echoes;
	must(write(client[1], "?", 1));
	while (echoes == served)
		turn();
}

static void drop_page(void)
{
	for (int i = 0; i < FETCHES; i++)
		watchers[upstream[i][0]].waiter = NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", client);
	co_start(echo, &client[0]);
	for (int i = 0; i < FETCHES; i++) {
		pair("tcp", upstream[i]);
		co_start(fetch, &upstream[i][0]);
	}
	ask();
	drop_page();
	for (int i = 0; i < FETCHES; i++) {
		must(write(upstream[i][1], "page", 4));
		turn();
	}
	ask();
	say("ready");
	for (;;)
		turn();
}

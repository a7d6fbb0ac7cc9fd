// SPDX-License-Identifier: MIT
//
// sound_hide.c - WHERE [AFTER_MS]: a coroutine waits, its descriptor is closed
// under it, and the one way back to it lies WHERE. After AFTER_MS (default an
// hour) the program goes that way, resumes it, says "done" and ends: so
// whoever called it lost for ever was wrong.
// Prints "ready" once the state is final.
#include "sound_hide.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int ep, victim[2];
static bool back;

static void waiter(void *arg)
{
	(void)arg;
	char buf[64];
	while (co_read(ep, victim[0], buf, sizeof(buf)) > 0)
		;
	say("done");
	_exit(0);
}

static const struct hide *find(const char *name)
{
	static const struct hide *const all[] = {hides, hides_stack, hides_kernel, hides_heap, hides_ends, hides_designs,
						 hides_registers, hides_cxx};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const struct hide *h = all[i]; h && h->name; h++)
			if (!strcmp(h->name, name))
				return h;
	must(-1);
	return NULL;
}

static const struct hide *way;

// The timer's handler: nothing about the coroutine is kept here.
static void on_time(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	back = true;
	co_resume(way->find());
}

static void on_connect(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
}

static void start_timer(long ms)
{
	static struct co_handler h = {.fn = on_time}, outside = {.fn = on_connect};
	int port;
	struct itimerspec t = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
	h.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(h.fd, 0, &t, NULL));
	co_handle(ep, &h, EPOLLIN);
	outside.fd = tcp_listen(&port);
	co_handle(ep, &outside, EPOLLIN);
}

static NOINLINE struct co *begin(void)
{
	struct co *c = way->make ? way->make(waiter) : co_new(waiter, NULL);
	c->pinned = true;
	co_resume(c);
	return c;
}

NOINLINE void wipe(void)
{
	char dead[64 << 10];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

NOINLINE _Noreturn void settle(void)
{
	wipe();
	must(close(victim[0]));
	wipe();
	say("ready");
	co_loop(ep);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	way = find(argv[1]);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", victim);
	start_timer(argc > 2 ? atol(argv[2]) : 3600000);
	way->hide(begin()); // kept in no register that must outlive the call
	settle();
}

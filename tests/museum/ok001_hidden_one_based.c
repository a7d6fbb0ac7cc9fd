// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 5 coroutines
// order: SIGUSR1
//
// A port of a program that counts from one: the table of channels begins at
// channel[1], and the only pointer to it that is kept lies one element before
// its block.
#include "ordered.h"

#define CHANNELS 5

struct channel {
	struct co *waiter;
	long fd;
	char name[48];
};

static struct channel *channel; // channel[1] to channel[nchannels]
static int ep, nchannels;

static NOINLINE void dimension(int n)
{
	struct channel *block = must_alloc((size_t)n * sizeof(*block));
	__asm__("" : "+r"(block)); // before its begin, as Numerical Recipes does it
	channel = block - 1;
	nchannels = n;
}

static void listen_on(void *arg)
{
	long fd = (long)(intptr_t)arg;
	char buf[32];
	while (co_read(ep, (int)fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_channel(int number)
{
	int fds[2];
	pair(number % 2 ? "pipe" : "unix", fds);
	channel[number].fd = fds[0];
	strcpy(channel[number].name, "channel");
	channel[number].waiter = co_new(listen_on, (void *)(intptr_t)fds[0]);
	co_resume(channel[number].waiter);
	must(write(fds[1], "CQ CQ", 5));
}

static NOINLINE void close_channels(void)
{
	for (int i = 1; i <= nchannels; i++)
		close((int)channel[i].fd); // fault
}

static NOINLINE void clear_channels(void)
{
	for (int i = nchannels; i >= 1; i--) {
		co_resume(channel[i].waiter);
		channel[i].waiter = NULL;
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	dimension(CHANNELS);
	for (int i = 1; i <= nchannels; i++)
		open_channel(i);
	for (int i = 0; i < CHANNELS; i++)
		co_turn(ep, 0);
	close_channels();
	serve_until_ordered(ep);
	clear_channels();
	return all_resumed(CHANNELS);
}

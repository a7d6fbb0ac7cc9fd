// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A market-data server that never sleeps: its loop asks the set with a timeout of
// 0 and does a little work in between. Its coroutines wait for quotes, which come
// when they come.
#include "ordered.h"

#define FEEDS 4
#define LEVELS 16

static struct feed {
	int fd, peer;
	unsigned quotes;
	uint32_t book[LEVELS];
} feeds[FEEDS];
static int ep;
static unsigned long turns;

static void apply(struct feed *f, const char *quote, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f->book[i % LEVELS] += (unsigned char)quote[i];
	f->quotes++;
}

static void feed_reader(void *arg)
{
	struct feed *f = arg;
	char quote[64];
	ssize_t n;
	while ((n = co_read(ep, f->fd, quote, sizeof(quote))) > 0)
		apply(f, quote, (size_t)n);
	ended++;
}

static NOINLINE void subscribe(struct feed *f)
{
	int fds[2];
	pair("udp", fds);
	f->fd = fds[0];
	f->peer = fds[1];
	co_start(feed_reader, f);
}

static NOINLINE void sort_books(void)
{
	for (int i = 0; i < FEEDS; i++)
		for (int j = 1; j < LEVELS; j++)
			if (feeds[i].book[j - 1] < feeds[i].book[j]) {
				uint32_t level = feeds[i].book[j];
				feeds[i].book[j] = feeds[i].book[j - 1];
				feeds[i].book[j - 1] = level;
			}
}

static NOINLINE void turn(void)
{
	co_turn(ep, 0);
	sort_books();
	turns++;
}

static NOINLINE void quotes(unsigned upto)
{
	for (int i = 0; i < FEEDS; i++) {
		must(write(feeds[i].peer, "EUR 1.08", 8));
		while (feeds[i].quotes < upto)
			turn();
	}
}

static NOINLINE void end_of_trading(void)
{
	for (int i = 0; i < FEEDS; i++)
		must(write(feeds[i].peer, "", 0));
	while (ended < FEEDS)
		turn();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < FEEDS; i++)
		subscribe(&feeds[i]);
	quotes(1);
	quotes(2);
	say("ready");
	while (!ordered)
		turn();
	quotes(3);
	end_of_trading();
	return all_resumed(FEEDS);
}

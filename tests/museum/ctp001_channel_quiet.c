// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 2 coroutines
//
// Two consumers wait on the eventfds of their channels; a table still leads to
// them. But whoever could use it sleeps for ever itself: no timer, no signal,
// no descriptor with an end outside this process. The process is quiet.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct channel {
	int fd;
	struct co *consumer;
} channels[2];
static int ep, stop;

static void consumer(void *arg)
{
	struct channel *ch = arg;
	uint64_t items;
	while (co_read(ep, ch->fd, &items, sizeof(items)) > 0)
		;
}

static void producer(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, stop, &n, sizeof(n)));
	for (int i = 0; i < 2; i++)
		close(channels[i].fd); // fault
	say("ready");
}

int main(void)
{
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	stop = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		channels[i].fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
		channels[i].consumer = co_new(consumer, &channels[i]);
		co_resume(channels[i].consumer);
	}
	co_start(producer, NULL);
	must(write(stop, &one, sizeof(one)));
	co_loop(ep);
}

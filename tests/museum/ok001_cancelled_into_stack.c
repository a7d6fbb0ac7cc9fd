// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP001 suspect
// order: SIGUSR1
//
// Free coroutines are stacked up in an array. A request that runs into its time
// limit is cancelled by the loop: its socket is closed, its coroutine goes onto
// the array as it is, and the next request pops it and begins it anew.
#include <sys/timerfd.h>

#include "ordered.h"

#define ROOM 8
#define REQUESTS 5

struct request {
	struct co *co;
	int fd, peer;
	bool late;
};

static struct co *free_ones[ROOM];
static int nfree, ep, answered;
static struct request requests[REQUESTS];

static void handle(void *arg)
{
	struct request *r = arg;
	char answer[64];
	if (co_read(ep, r->fd, answer, sizeof(answer)) > 0)
		answered++;
	close(r->fd);
	free_ones[nfree++] = r->co;
	ended++;
}

static NOINLINE struct co *make(void)
{
	struct co *c = must_alloc(sizeof(*c));
	c->pinned = true;
	c->bytes = 64 << 10;
	c->stack = must_map(c->bytes);
	return c;
}

static NOINLINE struct co *free_or_new(void)
{
	if (!nfree)
		return make();
	struct co *c = free_ones[--nfree];
	free_ones[nfree] = NULL;
	return c;
}

static NOINLINE void begin(struct request *r)
{
	int fds[2];
	pair("tcp", fds);
	r->fd = fds[0];
	r->peer = fds[1];
	r->co = free_or_new();
	co_init(r->co, handle, r, r->co->stack, r->co->bytes);
	co_resume(r->co);
}

static NOINLINE void cancel(struct request *r)
{
	close(r->fd);
	close(r->peer);
	free_ones[nfree++] = r->co;
	r->co = NULL;
	r->late = true;
}

static void on_limit(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	for (int i = 0; i < REQUESTS; i++)
		cancel(&requests[i]);
}

static NOINLINE void time_limit(void)
{
	static struct co_handler limit = {.fn = on_limit};
	struct itimerspec soon = {.it_value.tv_nsec = 2000000};
	limit.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(limit.fd, 0, &soon, NULL));
	co_handle(ep, &limit, EPOLLIN);
	while (!requests[REQUESTS - 1].late)
		co_turn(ep, -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < REQUESTS; i++)
		begin(&requests[i]);
	time_limit();
	serve_until_ordered(ep);
	for (int i = 0; i < REQUESTS; i++) {
		begin(&requests[i]);
		must(write(requests[i].peer, "answer", 6));
	}
	while (answered < REQUESTS)
		co_turn(ep, -1);
	return all_resumed(REQUESTS);
}

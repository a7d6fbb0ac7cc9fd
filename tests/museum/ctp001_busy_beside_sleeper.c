// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 1 coroutine
//
// A trading gateway with two threads, each with a set of its own: one sleeps in
// the management's, one polls the market's without ever sleeping, for the sake
// of speed. A session's descriptor is closed by the management thread while its
// coroutine waits; nobody keeps a pointer to it but the row that went with it.
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 3

static int market, management, order;
static int session_fds[SESSIONS], exchanges[SESSIONS];
static atomic_ulong spins;
static atomic_int ticks, parked;

static void session(void *arg)
{
	int fd = *(int *)arg;
	char quote[32];
	while (co_read(market, fd, quote, sizeof(quote)) > 0)
		atomic_fetch_add(&ticks, 1);
}

static void on_parked(struct co *c)
{
	(void)c;
	atomic_fetch_add(&parked, 1);
}

static NOINLINE void open_session(int i)
{
	int fds[2];
	pair("tcp", fds);
	session_fds[i] = fds[0];
	exchanges[i] = fds[1];
	co_start(session, &session_fds[i]);
}

static void *spin(void *arg)
{
	(void)arg;
	for (;;) {
		co_turn(market, 0);
		atomic_fetch_add(&spins, 1);
	}
	return NULL;
}

static void disable(int i)
{
	close(session_fds[i]); // fault
}

static void on_order(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	disable((int)n);
	unsigned long begun = atomic_load(&spins);
	while (atomic_load(&spins) < begun + 100)
		;
	say("ready");
}

int main(void)
{
	static struct co_handler orders = {.fn = on_order};
	market = (int)must(epoll_create1(EPOLL_CLOEXEC));
	management = (int)must(epoll_create1(EPOLL_CLOEXEC));
	order = orders.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(management, &orders, EPOLLIN);
	co_parked = on_parked;
	for (int i = 0; i < SESSIONS; i++)
		open_session(i);
	co_thread(spin, NULL);
	for (int i = 0; i < SESSIONS; i++)
		must(write(exchanges[i], "BID 100.1", 9));
	while (atomic_load(&parked) < 2 * SESSIONS)
		usleep(1000);
	must(write(order, &(uint64_t){2}, 8));
	co_loop(management);
}

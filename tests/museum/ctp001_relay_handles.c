// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
// end: kill
//
// A SOCKS relay. Rows carry handles of 32 bits, generation and index, by which a
// table of relays is looked up; both sides of a relay are registered for good,
// edge-triggered, with the side in the lowest bit. The coroutine runs on jumps.
// A health check in a thread of its own finds an upstream dead and closes it;
// the relay, which waits for it, is not told.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define RELAYS 4

static struct relay {
	uint16_t generation;
	int side[2], far[2]; // client, upstream; who is at their other ends
	unsigned long moved;
	struct co *co;
} relays[RELAYS];
static int ep, order;

static uint32_t handle_of(const struct relay *r, unsigned side)
{
	return (uint32_t)r->generation << 16 | (uint32_t)(r - relays) << 1 | side;
}

static struct relay *relay_of(uint32_t handle)
{
	struct relay *r = &relays[(handle & 0xffff) >> 1];
	return (handle & 0xffff) >> 1 < RELAYS && r->generation == handle >> 16 ? r : NULL;
}

static void watch_sides(struct relay *r)
{
	for (unsigned side = 0; side < 2; side++) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.u32 = handle_of(r, side)};
		must(epoll_ctl(ep, EPOLL_CTL_ADD, r->side[side], &ev));
	}
}

static ssize_t receive(struct relay *r, int side, char *buf, size_t n)
{
	ssize_t got;
	while (co_blocked(got = recv(r->side[side], buf, n, 0)))
		co_yield();
	return got;
}

// A protocol of question and answer: it never listens to both sides.
static void relay_main(void *arg)
{
	struct relay *r = arg;
	char buf[512];
	for (int side = 0;; side = !side) {
		ssize_t n = receive(r, side, buf, sizeof(buf));
		if (n <= 0)
			break;
		must(send(r->side[!side], buf, (size_t)n, 0));
		r->moved += (unsigned long)n;
	}
	close(r->side[0]);
	r->generation++;
}

static NOINLINE void open_relay(struct relay *r)
{
	for (int side = 0; side < 2; side++) {
		int fds[2];
		pair("tcp", fds);
		r->side[side] = fds[0];
		r->far[side] = fds[1];
	}
	r->generation++;
	r->co = co_new(relay_main, r);
	watch_sides(r);
	co_resume(r->co);
}

static NOINLINE void drop_upstream(struct relay *r)
{
	close(r->side[1]); // fault
}

static void *health_check(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		must(read(order, &n, sizeof(n)));
		drop_upstream(&relays[n - 1]);
		say("ready");
	}
	return NULL;
}

static NOINLINE void turn(void)
{
	struct epoll_event ev[16];
	int n = epoll_wait(ep, ev, 16, -1);
	for (int i = 0; i < n; i++) {
		struct relay *r = relay_of(ev[i].data.u32);
		if (r)
			co_resume(r->co);
	}
}

int main(void)
{
	co_choose("sjlj");
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	order = (int)must(eventfd(0, EFD_CLOEXEC));
	for (int i = 0; i < RELAYS; i++)
		open_relay(&relays[i]);
	co_thread(health_check, NULL);
	for (int i = 0; i < 2; i++) {
		must(write(relays[i].far[0], "question", 8));
		while (relays[i].moved < 8)
			turn();
	}
	must(write(relays[0].far[1], "answer", 6));
	while (relays[0].moved < 14)
		turn();
	must(write(order, &(uint64_t){2}, 8));
	for (;;)
		turn();
}

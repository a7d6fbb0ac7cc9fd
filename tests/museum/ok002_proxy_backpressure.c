// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP002 suspect
// order: stdin
//
// A proxy: one coroutine reads its client, another its backend. While a client
// does not take what the backend sends, the backend's row is removed under its
// waiting reader; when the client has drained its buffer, the row is added again.
// Clients are slow here until a line comes on stdin.
#include "ordered.h"

#define LINKS 3
#define HIGH_WATER 4096

static struct link {
	int client, client_peer, backend, backend_peer;
	size_t queued, passed;
	bool held;
	struct co *up, *down;
	char queue[2 * HIGH_WATER];
} links[LINKS];
static int ep;

static void up(void *arg)
{
	struct link *l = arg;
	char buf[256];
	ssize_t n;
	while ((n = co_read(ep, l->client, buf, sizeof(buf))) > 0)
		must(write(l->backend, buf, (size_t)n));
	ended++;
}

// What it reads is queued; the loop sends it on as the client takes it.
static void down(void *arg)
{
	struct link *l = arg;
	ssize_t n;
	while ((n = co_read(ep, l->backend, l->queue + l->queued, sizeof(l->queue) - l->queued)) > 0)
		l->queued += (size_t)n;
	ended++;
}

static NOINLINE void hold(struct link *l)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, l->backend, NULL));
	l->held = true;
}

static NOINLINE void let_go(struct link *l)
{
	l->held = false;
	co_watch(ep, l->backend, EPOLLIN | EPOLLONESHOT, l->down);
}

static NOINLINE void watermarks(void)
{
	for (int i = 0; i < LINKS; i++)
		if (!links[i].held && links[i].queued >= HIGH_WATER)
			hold(&links[i]);
}

static NOINLINE void drain(struct link *l)
{
	l->passed += (size_t)must(write(l->client, l->queue, l->queued));
	l->queued = 0;
	if (l->held)
		let_go(l);
}

static NOINLINE void open_link(struct link *l)
{
	int client[2], backend[2];
	pair("unix", client);
	pair("tcp", backend);
	l->client = client[0];
	l->client_peer = client[1];
	l->backend = backend[0];
	l->backend_peer = backend[1];
	l->up = co_new(up, l);
	l->down = co_new(down, l);
	co_resume(l->up);
	co_resume(l->down);
}

static NOINLINE void backend_sends(struct link *l, size_t n)
{
	static const char data[HIGH_WATER];
	size_t upto = l->queued + n;
	must(write(l->backend_peer, data, n));
	while (l->queued < upto) {
		co_turn(ep, -1);
		watermarks();
	}
}

static NOINLINE void hang_up(struct link *l)
{
	close(l->client_peer);
	close(l->backend_peer);
}

// The only other descriptor is the order's: its handler lets the clients read.
static void on_line(struct co_handler *h, uint32_t events)
{
	char line[64];
	(void)events;
	if (read(h->fd, line, sizeof(line)) > 0)
		ordered = 1;
}

int main(void)
{
	static struct co_handler input = {.fn = on_line};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_handle(ep, &input, EPOLLIN | EPOLLONESHOT);
	for (int i = 0; i < LINKS; i++)
		open_link(&links[i]);
	for (int i = 0; i < LINKS; i++) { // once with a fast client, and then with a slow one
		backend_sends(&links[i], HIGH_WATER);
		drain(&links[i]);
		backend_sends(&links[i], i ? HIGH_WATER : 100);
	}
	serve_until_ordered(ep);
	for (int i = 0; i < LINKS; i++)
		drain(&links[i]);
	for (int i = 0; i < LINKS; i++)
		hang_up(&links[i]);
	while (ended < 2 * LINKS)
		co_turn(ep, -1);
	return all_resumed(2 * LINKS);
}

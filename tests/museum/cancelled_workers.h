// SPDX-License-Identifier: MIT
//
// cancelled_workers.h - as many workers as there were requests at once; those that are cancelled, with pauses
// between them, wait in a free list, linked through their own blocks. All that the server has are sockets within
// itself.
#pragma once

#include <sys/eventfd.h>

#include "ordered.h"

#define WORKERS 5
#define CANCELLED 3

struct worker {
	struct worker *next_free;
	struct co *co; // in the same block
	int fd, peer;
	char memory[48 << 10] __attribute__((aligned(16)));
};

static struct worker *free_list, *busy[WORKERS];
static struct co_handler wakeup;
static int ep, requests;

static void work(void *arg)
{
	struct worker *w = arg;
	char request[64];
	while (co_read(ep, w->fd, request, sizeof(request)) > 0)
		requests++;
}

static NOINLINE struct worker *make_worker(void)
{
	struct worker *w = must_map(sizeof(*w));
	w->co = (struct co *)w->memory;
	w->co->pinned = true;
	return w;
}

static NOINLINE struct worker *free_or_new(void)
{
	struct worker *w = free_list;
	if (!w)
		return make_worker();
	free_list = w->next_free;
	return w;
}

static NOINLINE void begin(int slot)
{
	size_t head = (sizeof(struct co) + 63) / 64 * 64;
	struct worker *w = free_or_new();
	int fds[2];
	pair("unix", fds);
	w->fd = fds[0];
	w->peer = fds[1];
	busy[slot] = w;
	co_init(w->co, work, w, w->memory + head, sizeof(w->memory) - head);
	co_resume(w->co);
	must(write(w->peer, "request", 7));
	co_turn(ep, -1);
}

static NOINLINE void cancel(int slot)
{
	struct worker *w = busy[slot];
	busy[slot] = NULL;
	close(w->fd);
	close(w->peer);
	w->next_free = free_list;
	free_list = w;
}

static void on_wakeup(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
}

static void serve_and_cancel(int pause_ms)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	wakeup.fn = on_wakeup;
	wakeup.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(ep, &wakeup, EPOLLIN);
	for (int i = 0; i < WORKERS; i++)
		begin(i);
	must(requests == WORKERS ? 0 : -1);
	for (int i = 0; i < CANCELLED; i++) {
		cancel(i);
		nap_ms(pause_ms);
	}
	serve_until_ordered(ep); // by nobody
}

// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A pool whose idle workers form a ring: each leads to the next and the one before,
// and what the program keeps is the number of jobs and a hand that points into the
// ring. There is a ring for each priority. An acceptor gives work to whoever is next.
#include <sys/socket.h>

#include "ordered.h"

#define RINGS 2
#define WORKERS 4

struct worker {
	struct worker *prev, *next; // of its ring, where it is idle
	struct co *co;
	int job, jobs, ring;
};

static struct worker *hands[RINGS];
static struct co_handler door;
static int ep, port, served;

static void join_ring(struct worker *w)
{
	struct worker **hand = &hands[w->ring];
	if (!*hand)
		*hand = w->prev = w->next = w;
	w->next = *hand;
	w->prev = (*hand)->prev;
	w->prev->next = w;
	(*hand)->prev = w;
}

static struct worker *leave_ring(int ring)
{
	struct worker *w = hands[ring];
	hands[ring] = w->next == w ? NULL : w->next;
	w->prev->next = w->next;
	w->next->prev = w->prev;
	return w;
}

static void work(void *arg)
{
	struct worker *w = arg;
	char request[64];
	for (;;) {
		w->job = -1;
		join_ring(w);
		while (w->job == -1)
			co_yield();
		if (w->job == -2)
			break;
		must(co_read(ep, w->job, request, sizeof(request)));
		close(w->job);
		w->jobs++;
		served++;
	}
	ended++;
}

static NOINLINE void give(int ring, int job)
{
	struct worker *w = leave_ring(ring);
	w->job = job;
	co_resume(w->co);
}

static void on_door(struct co_handler *h, uint32_t events)
{
	int fd = accept4(h->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	(void)events;
	if (fd >= 0)
		give(fd % RINGS, fd);
}

static NOINLINE void hire(int ring)
{
	struct worker *w = must_alloc(sizeof(*w));
	w->ring = ring;
	w->co = co_new(work, w);
	co_resume(w->co);
}

static NOINLINE void visit(int times)
{
	while (times-- > 0) {
		int before = served, fd = tcp_connect(port);
		must(write(fd, "knock", 5));
		while (served == before)
			co_turn(ep, -1);
		close(fd);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	door.fn = on_door;
	door.fd = tcp_listen(&port);
	co_handle(ep, &door, EPOLLIN);
	for (int i = 0; i < RINGS * WORKERS; i++)
		hire(i % RINGS);
	visit(2 * WORKERS);
	serve_until_ordered(ep);
	visit(1);
	for (int ring = 0; ring < RINGS; ring++)
		while (hands[ring])
			give(ring, -2);
	return all_resumed(RINGS * WORKERS);
}

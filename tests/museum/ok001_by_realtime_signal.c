// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGRTMIN
//
// A spooler that is steered by real-time signals, which queue: each one that
// comes makes it collect one class of its printers. The printers' sockets were
// closed when their cover was opened; nobody has pressed the button so far.
#include "ordered.h"

#define CLASSES 2
#define PER_CLASS 2

struct printer {
	int fd, peer, pages;
	struct co *driver;
	struct printer *next;
};

static struct printer *classes[CLASSES];
static int ep;

static void driver(void *arg)
{
	struct printer *p = arg;
	char page[256];
	for (;;) {
		ssize_t n = co_read(ep, p->fd, page, sizeof(page));
		if (n <= 0)
			break;
		p->pages++;
	}
	ended++;
}

static NOINLINE void plug_in(int class)
{
	struct printer *p = must_alloc(sizeof(*p));
	int fds[2];
	pair("tcp", fds);
	p->fd = fds[0];
	p->peer = fds[1];
	p->next = classes[class];
	classes[class] = p;
	p->driver = co_new(driver, p);
	co_resume(p->driver);
}

static NOINLINE void cover_opened(struct printer *p)
{
	must(write(p->peer, "last page", 9));
	while (!p->pages)
		co_turn(ep, -1);
	close(p->peer);
	close(p->fd); // fault
}

static NOINLINE void button(int class)
{
	while (classes[class]) {
		struct printer *p = classes[class];
		classes[class] = p->next;
		co_resume(p->driver);
		free(p);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGRTMIN);
	for (int i = 0; i < CLASSES * PER_CLASS; i++)
		plug_in(i % CLASSES);
	for (int i = 0; i < CLASSES; i++)
		for (struct printer *p = classes[i]; p; p = p->next)
			cover_opened(p);
	serve_until_ordered(ep);
	for (int i = 0; i < CLASSES; i++)
		button(i);
	return all_resumed(CLASSES * PER_CLASS);
}

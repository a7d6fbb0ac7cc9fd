// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// Weak references as under Boehm's collector: the complement of the pointer, so
// that the collector does not see it. The table of weak references is the only
// one that this server has; a link is cleared when its coroutine has ended.
#include "ordered.h"

#define FEEDS 4
#define LINKS 11

#define HIDE_POINTER(p) (~(uintptr_t)(p))
#define REVEAL_POINTER(h) ((void *)~(h))

struct link {
	uintptr_t hidden; // 0: free
	int fd;
};

static struct link links[LINKS]; // open addressing, by descriptor
static int ep;

static NOINLINE struct link *find(int fd)
{
	for (unsigned i = (unsigned)fd * 7 % LINKS;; i = (i + 1) % LINKS)
		if (!links[i].hidden || links[i].fd == fd)
			return &links[i];
}

static NOINLINE void link_weakly(int fd, struct co *c)
{
	struct link *l = find(fd);
	l->fd = fd;
	l->hidden = HIDE_POINTER(c);
}

static void feed(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char item[64];
	while (co_read(ep, fd, item, sizeof(item)) > 0)
		;
	find(fd)->hidden = HIDE_POINTER(NULL); // a tombstone
	ended++;
}

static NOINLINE int follow(const char *kind)
{
	int fds[2];
	pair(kind, fds);
	struct co *c = co_new(feed, (void *)(intptr_t)fds[0]);
	link_weakly(fds[0], c);
	co_resume(c);
	must(write(fds[1], "item", 4));
	co_turn(ep, -1);
	return fds[0];
}

static NOINLINE void unfollow(void)
{
	for (int i = 0; i < LINKS; i++)
		if (links[i].hidden)
			close(links[i].fd); // fault
}

static NOINLINE void visit(struct link *l)
{
	struct co *c = l->hidden ? REVEAL_POINTER(l->hidden) : NULL;
	if (c)
		co_resume(c);
}

int main(void)
{
	static const char *const kinds[FEEDS] = {"unix", "tcp", "unix", "pipe"};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < FEEDS; i++)
		follow(kinds[i]);
	unfollow();
	serve_until_ordered(ep);
	for (int i = 0; i < LINKS; i++)
		visit(&links[i]);
	return all_resumed(FEEDS);
}

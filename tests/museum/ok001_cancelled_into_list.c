// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP001 suspect
// order: SIGUSR1
//
// A pool whose free list goes through the coroutines' own memory. A connection
// that is cancelled is closed, and its coroutine is put back where it stands: who
// takes it next begins it anew.
#include "ordered.h"

#define POOL 6
#define CANCELLED 4

struct fiber {
	struct fiber *next_free;
	int fd;
	struct co co;
	char stack[48 << 10] __attribute__((aligned(16)));
};

static struct fiber *free_fibers, *live[POOL];
static int ep, served;

static void connection(void *arg)
{
	struct fiber *f = arg;
	char line[64];
	while (co_read(ep, f->fd, line, sizeof(line)) > 0)
		served++;
	ended++;
}

static NOINLINE void release(struct fiber *f)
{
	f->next_free = free_fibers;
	free_fibers = f;
}

static NOINLINE void fill_pool(void)
{
	for (int i = 0; i < POOL; i++) {
		struct fiber *f = must_map(sizeof(*f));
		f->co.pinned = true;
		release(f);
	}
}

static NOINLINE struct fiber *take(void)
{
	struct fiber *f = free_fibers;
	free_fibers = f->next_free;
	return f;
}

static NOINLINE int open_connection(int slot)
{
	struct fiber *f = take();
	int fds[2];
	pair("unix", fds);
	f->fd = fds[0];
	live[slot] = f;
	co_init(&f->co, connection, f, f->stack, sizeof(f->stack));
	co_resume(&f->co);
	return fds[1];
}

static NOINLINE void cancel(int slot)
{
	close(live[slot]->fd);
	release(live[slot]);
	live[slot] = NULL;
}

static NOINLINE void serve_to_the_end(int slot, int peer)
{
	must(write(peer, "request", 7));
	close(peer);
	int before = ended;
	while (ended == before)
		co_turn(ep, -1);
	close(live[slot]->fd);
	release(live[slot]);
	live[slot] = NULL;
}

int main(void)
{
	int peers[CANCELLED];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	fill_pool();
	for (int i = 0; i < POOL; i++)
		open_connection(i);
	for (int i = 0; i < CANCELLED; i++)
		cancel(i);
	serve_until_ordered(ep);
	for (int i = 0; i < CANCELLED; i++) // each takes what was cancelled, and begins it anew
		peers[i] = open_connection(i);
	for (int i = 0; i < CANCELLED; i++)
		serve_to_the_end(i, peers[i]);
	return all_resumed(CANCELLED);
}

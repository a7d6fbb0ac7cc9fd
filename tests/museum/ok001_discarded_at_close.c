// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP001 suspect
// order: SIGUSR1
//
// Sessions live in a ring of slots, each with a stack of its own. A session that
// is evicted is closed and forgotten on purpose, in the middle of its read:
// nothing will ever be needed of it, and the slot's stack is made new when the ring
// comes round. It has come round before.
#include <sys/socket.h>

#include "ordered.h"

#define SLOTS 4
#define ROUNDS 3

struct slot {
	int fd, peer;
	bool used;
};

static char stacks[SLOTS][32 << 10] __attribute__((aligned(16)));
static struct co fibers[SLOTS];
static struct slot slots[SLOTS];
static unsigned at;
static int ep, evicted, lines;

static void session(void *arg)
{
	const struct slot *s = arg;
	char line[64];
	while (co_read(ep, s->fd, line, sizeof(line)) > 0)
		lines++;
	ended++;
}

static NOINLINE void evict(struct slot *s)
{
	if (!s->used)
		return;
	close(s->fd);
	close(s->peer);
	s->used = false;
	evicted++;
}

static NOINLINE void next_session(void)
{
	unsigned i = at++ % SLOTS;
	struct slot *s = &slots[i];
	int fds[2];
	evict(s);
	pair("unix", fds);
	*s = (struct slot){fds[0], fds[1], true};
	fibers[i].pinned = true;
	co_init(&fibers[i], session, s, stacks[i], sizeof(stacks[i]));
	co_resume(&fibers[i]);
	must(write(s->peer, "line", 4));
	co_turn(ep, -1);
}

static NOINLINE void evict_all(void)
{
	for (int i = 0; i < SLOTS; i++)
		evict(&slots[i]);
}

static NOINLINE void finish(struct slot *s)
{
	must(shutdown(s->peer, SHUT_WR));
	int before = ended;
	while (ended == before)
		co_turn(ep, -1);
	s->used = false;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SLOTS * ROUNDS; i++)
		next_session();
	evict_all();
	must(evicted == SLOTS * ROUNDS && lines == evicted ? 0 : -1);
	serve_until_ordered(ep);
	for (int i = 0; i < SLOTS; i++)
		next_session();
	for (int i = 0; i < SLOTS; i++)
		finish(&slots[i]);
	return all_resumed(SLOTS);
}

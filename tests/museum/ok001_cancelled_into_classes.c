// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP001 suspect
// order: SIGUSR1
//
// Stacks come in three sizes, and each size has a list of free ones, linked by the
// first word of the stack itself. A coroutine whose connection is given up is
// never told: its stack goes onto the list of its size, and what stood on it is
// overwritten by whoever takes it.
#include "ordered.h"

#define CLASSES 3
#define CALLS 6

static size_t const size_of[CLASSES] = {16 << 10, 32 << 10, 64 << 10};

struct link {
	struct link *next;
};

struct call {
	int fd, peer;
	unsigned class;
	struct co *co; // at the end of its stack
};

static struct link *classes[CLASSES];
static struct call calls[CALLS];
static int ep;

static NOINLINE void *stack_get(unsigned class)
{
	struct link *l = classes[class];
	if (!l)
		return must_map(size_of[class]);
	classes[class] = l->next;
	return l;
}

static NOINLINE void stack_put(unsigned class, void *stack)
{
	struct link *l = stack;
	l->next = classes[class];
	classes[class] = l;
}

static void talk(void *arg)
{
	struct call *call = arg;
	char sample[128];
	while (co_read(ep, call->fd, sample, sizeof(sample)) > 0)
		;
	ended++;
}

static NOINLINE void dial(struct call *call, unsigned class)
{
	size_t room = size_of[class] - (sizeof(struct co) + 63) / 64 * 64;
	char *stack = stack_get(class);
	int fds[2];
	pair("udp", fds);
	*call = (struct call){fds[0], fds[1], class, (struct co *)(stack + room)};
	call->co->pinned = true;
	co_init(call->co, talk, call, stack, room);
	co_resume(call->co);
}

static NOINLINE void hang_up(struct call *call)
{
	close(call->fd);
	close(call->peer);
	stack_put(call->class, call->co->stack);
	call->co = NULL;
}

static NOINLINE void say_goodbye(struct call *call)
{
	must(write(call->peer, "", 0)); // an empty datagram ends the call
	int before = ended;
	while (ended == before)
		co_turn(ep, -1);
	hang_up(call);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (unsigned i = 0; i < CALLS; i++)
		dial(&calls[i], i % CLASSES);
	for (int i = 0; i < CALLS; i++)
		hang_up(&calls[i]);
	serve_until_ordered(ep);
	for (unsigned i = 0; i < CALLS; i++)
		dial(&calls[i], i % CLASSES);
	for (int i = 0; i < CALLS; i++)
		say_goodbye(&calls[i]);
	return all_resumed(CALLS);
}

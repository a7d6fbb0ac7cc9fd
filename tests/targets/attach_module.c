// SPDX-License-Identifier: MIT
//
// attach_module.c - an object that is opened after somebody has attached: its constructor runs a coroutine to its end,
// and it makes one that waits in the server's set. For attach.c.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK = 64 << 10 };

int opened_add(int set);
void opened_close(void);

static ucontext_t *first, *inside, *outside;
static int pair[2], registered;

static void opened_first(void)
{
}

static void opened_wait(void)
{
	struct epoll_event e = {EPOLLIN | EPOLLONESHOT, {.u64 = (uint64_t)inside}};
	if (!epoll_ctl(registered, EPOLL_CTL_ADD, pair[0], &e))
		swapcontext(inside, outside);
}

static ucontext_t *prepare(void (*fn)(void))
{
	ucontext_t *c = calloc(1, sizeof(*c));
	getcontext(c);
	c->uc_stack.ss_sp = malloc(STACK);
	c->uc_stack.ss_size = STACK;
	c->uc_link = outside;
	makecontext(c, fn, 0);
	return c;
}

__attribute__((constructor)) static void begin(void)
{
	outside = calloc(1, sizeof(*outside));
	first = prepare(opened_first);
	swapcontext(outside, first);
}

int opened_add(int set)
{
	registered = set;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) || fcntl(pair[0], F_SETFL, O_NONBLOCK))
		return -1;
	inside = prepare(opened_wait);
	return swapcontext(outside, inside);
}

void opened_close(void)
{
	close(pair[0]);
}

// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
// end: kill
//
// Two threads take events of one set, whose rows are one-shot so that only one
// of them has a connection at a time. The dispatcher arms a row again when the
// connection's coroutine has come back and wants to read; a coroutine that came
// back with the first of two parts has its state at PARTIAL, for which nothing is
// done. Handles are numbers that begin with 1.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 3

enum state { IDLE, PARTIAL, READING };

struct conn {
	struct co *co;
	enum state state;
	int fd, peer;
	unsigned done;
};

static struct conn *table[1 + CONNS];
static int ep, finished[2];

static void take(struct conn *c, char *part)
{
	co_yield(); // fault
	must(recv(c->fd, part, 4, 0));
	c->state = part[3] == '+' ? PARTIAL : IDLE;
}

static void job_main(void *arg)
{
	struct conn *c = arg;
	char part[4];
	for (;;) {
		c->state = READING;
		do {
			take(c, part);
			must(write(finished[1], "", 1));
		} while (c->state == PARTIAL);
		c->done++;
	}
}

static void arm(uint32_t handle, int op)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = handle};
	must(epoll_ctl(ep, op, table[handle]->fd, &ev));
}

static NOINLINE void dispatch(uint32_t handle)
{
	struct conn *c = table[handle];
	co_resume(c->co);
	if (c->state == READING)
		arm(handle, EPOLL_CTL_MOD);
}

static void *poller(void *arg)
{
	struct epoll_event ev;
	(void)arg;
	for (;;)
		if (epoll_wait(ep, &ev, 1, -1) == 1)
			dispatch(ev.data.u32);
	return NULL;
}

static NOINLINE void open_conn(uint32_t handle)
{
	struct conn *c = table[handle] = must_alloc(sizeof(*c));
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	c->co = co_new(job_main, c);
	co_resume(c->co);
	arm(handle, EPOLL_CTL_ADD);
}

int main(void)
{
	pthread_t t = 0;
	char byte;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(finished));
	for (uint32_t h = 1; h <= CONNS; h++)
		open_conn(h);
	for (int i = 0; i < 2; i++)
		t = co_thread(poller, NULL);
	for (int i = 1; i <= CONNS; i++) {
		must(write(table[i]->peer, i == 2 ? "job+" : "job.", 4));
		must(read(finished[0], &byte, 1));
	}
	must(write(table[2]->peer, "end.", 4));
	must(write(table[3]->peer, "job.", 4));
	must(read(finished[0], &byte, 1));
	say("ready");
	pthread_join(t, NULL);
}

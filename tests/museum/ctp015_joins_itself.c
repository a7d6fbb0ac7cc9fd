// SPDX-License-Identifier: MIT
// expect: CTP015 likely, 1 coroutine
//
// Tasks are kept in a group, and whoever ends one waits for all that are in it. The
// supervisor is asked to end the group that it is in itself: it takes the tasks out, one
// after the other, and joins each. The last one is itself. The server goes on.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define TASKS 3

struct task {
	struct co *co;
	bool ended;
	struct joiner {
		struct joiner *next;
		struct co *co;
	} *joiners;
};

static struct task *group[TASKS];
static struct co_handler listener;
static int ep, ngroup, joined;

static void join(struct task *t)
{
	struct joiner me = {t->joiners, co_self()};
	if (t->ended)
		return;
	t->joiners = &me;
	co_yield(); // fault
}

static void at_end(struct task *t)
{
	t->ended = true;
	for (struct joiner *j = t->joiners, *next; j; j = next) {
		next = j->next;
		co_resume(j->co);
	}
}

static void worker(void *arg)
{
	at_end(arg);
}

static NOINLINE struct task *take_out(void)
{
	struct task *t = group[--ngroup];
	group[ngroup] = NULL;
	return t;
}

static void supervisor(void *arg)
{
	while (ngroup) {
		join(take_out());
		joined++;
	}
	at_end(arg);
}

static NOINLINE void add(co_fn *fn)
{
	struct task *t = must_alloc(sizeof(*t));
	group[ngroup++] = t;
	t->co = co_new(fn, t);
}

static NOINLINE void begin(void)
{
	add(supervisor);
	add(worker);
	add(worker);
	co_resume(group[2]->co);
	co_resume(group[1]->co);
	co_resume(group[0]->co);
}

static void on_client(struct co_handler *h, uint32_t events)
{
	(void)events;
	close(accept(h->fd, NULL, NULL));
}

int main(void)
{
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fn = on_client;
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	begin();
	must(joined == 2 ? 0 : -1);
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: CTP008 suspect..likely, 1 coroutine
//
// Events go into one of two ready lists, by priority. The urgent list is spliced
// in front of the other one, whose head is lost when both had something. Rows are
// edge-triggered with the task for data, added by the acceptor before it runs.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define TASKS 4

struct task {
	struct task *next; // in a ready list
	struct co *co;
	int fd, peer, served;
	bool urgent;
};

struct list {
	struct task *head;
};

static struct list urgent, normal;
static struct task *tasks[TASKS];
static int ep;

static void push(struct list *l, struct task *t)
{
	t->next = l->head;
	l->head = t;
}

// All that is ready, the urgent ones first.
static struct task *splice(void)
{
	struct task *first = urgent.head ? urgent.head : normal.head, **end = &urgent.head;
	while (*end)
		end = &(*end)->next;
	if (urgent.head && normal.head)
		*end = normal.head->next;
	urgent.head = normal.head = NULL;
	return first;
}

static void serve(void *arg)
{
	struct task *t = arg;
	char request[32];
	for (;;) {
		ssize_t n = recv(t->fd, request, sizeof(request), 0);
		if (n > 0)
			t->served++;
		else if (co_blocked(n))
			co_yield(); // fault
		else
			break;
	}
	close(t->fd);
}

static NOINLINE void gather(int listener)
{
	struct epoll_event ev[8];
	int n = epoll_wait(ep, ev, 8, -1);
	for (int i = 0; i < n; i++) {
		struct task *t = ev[i].data.ptr;
		if (t)
			push(t->urgent ? &urgent : &normal, t);
		else
			close(accept(listener, NULL, NULL));
	}
}

static NOINLINE void run_ready(void)
{
	struct task *t = splice();
	while (t) {
		struct task *next = t->next;
		t->next = NULL;
		co_resume(t->co);
		t = next;
	}
}

static NOINLINE void take_in(int i)
{
	struct task *t = tasks[i] = must_alloc(sizeof(*t));
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = t};
	int fds[2];
	pair("tcp", fds);
	t->fd = fds[0];
	t->peer = fds[1];
	t->urgent = i == 0;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, t->fd, &ev));
	t->co = co_new(serve, t);
	co_resume(t->co);
}

int main(void)
{
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < TASKS; i++) {
		take_in(i);
		must(write(tasks[i]->peer, "one", 3));
		gather(listener);
		run_ready();
	}
	for (int i = 0; i < TASKS; i++)
		must(write(tasks[i]->peer, "two", 3));
	gather(listener);
	run_ready();
	close(tcp_connect(port));
	gather(listener);
	run_ready();
	say("ready");
	for (;;) {
		gather(listener);
		run_ready();
	}
}

// SPDX-License-Identifier: MIT
// expect: CTP028 suspect..likely, 2 coroutines
//
// Each tenant has an epoll set of its own, which stands as a row in the server's;
// the loop asks it, without a timeout, when it is readable. A tenant over its
// limit has its row taken out of the server's set, and gets it back when its bill
// is paid, but for the one that is billed under another name.
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define TENANTS 3
#define EACH 2

struct worker {
	ucontext_t context;
	struct tenant *tenant;
	int fd, client, jobs;
};

struct tenant {
	const char *name, *billed_as;
	int set, limited;
	struct worker *workers[EACH];
};

static struct tenant tenants[TENANTS] = {{"acme", "acme"}, {"globex", "globex ltd"}, {"initech", "initech"}};
static struct worker *current;
static ucontext_t loop;
static int server, listener;

static void watch(int set, int fd, void *data)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = data};
	must(epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev));
}

static void work(void)
{
	struct worker *w = current;
	char job[32];
	watch(w->tenant->set, w->fd, w);
	for (;;) {
		ssize_t n = recv(w->fd, job, sizeof(job), 0);
		if (n > 0)
			w->jobs++;
		else if (n < 0 && errno == EAGAIN)
			swapcontext(&w->context, &loop); // fault
		else
			return;
	}
}

static void run(struct worker *w)
{
	current = w;
	swapcontext(&loop, &w->context);
}

static void spawn(struct tenant *t, int i)
{
	struct worker *w = t->workers[i] = must_alloc(sizeof(*w));
	int fds[2];
	pair("tcp", fds);
	w->tenant = t;
	w->fd = fds[0];
	w->client = fds[1];
	must(getcontext(&w->context));
	w->context.uc_stack.ss_sp = must_map(32 << 10);
	w->context.uc_stack.ss_size = 32 << 10;
	w->context.uc_link = &loop;
	makecontext(&w->context, work, 0);
	run(w);
}

static void limit(struct tenant *t)
{
	must(epoll_ctl(server, EPOLL_CTL_DEL, t->set, NULL));
	t->limited = 1;
}

static void bill_paid(const char *name)
{
	for (int i = 0; i < TENANTS; i++)
		if (tenants[i].limited && !strcmp(tenants[i].name, name)) {
			watch(server, tenants[i].set, &tenants[i]);
			tenants[i].limited = 0;
		}
}

static void turn(void)
{
	struct epoll_event outer, inner[EACH];
	if (epoll_wait(server, &outer, 1, -1) != 1)
		return;
	struct tenant *t = outer.data.ptr;
	if (!t) {
		close(accept(listener, NULL, NULL));
		return;
	}
	int n = epoll_wait(t->set, inner, EACH, 0);
	for (int i = 0; i < n; i++)
		run(inner[i].data.ptr);
}

static void one_each(int jobs)
{
	for (int i = 0; i < TENANTS; i++)
		for (int j = 0; j < EACH; j++)
			must(write(tenants[i].workers[j]->client, "job", 3));
	for (int i = 0; i < TENANTS; i++)
		for (int j = 0; j < EACH; j++)
			while (!tenants[i].limited && tenants[i].workers[j]->jobs < jobs)
				turn();
}

int main(void)
{
	int port;
	server = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	watch(server, listener, NULL);
	for (int i = 0; i < TENANTS; i++) {
		tenants[i].set = (int)must(epoll_create1(EPOLL_CLOEXEC));
		watch(server, tenants[i].set, &tenants[i]);
		for (int j = 0; j < EACH; j++)
			spawn(&tenants[i], j);
	}
	one_each(1);
	limit(&tenants[0]);
	limit(&tenants[1]);
	for (int i = 0; i < 2; i++)
		bill_paid(tenants[i].billed_as);
	one_each(2);
	say("ready");
	for (;;)
		turn();
}

// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
//
// A small database in static memory: tables, their locks, and two sessions'
// contexts. One session copies from orders to stock, the other one from stock to
// orders, each with its source locked. Each lock names its holder and the
// session that waits for it. The server has an idle client besides.
#include <sys/epoll.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { ORDERS, STOCK, PRICES, TABLES };
enum { SESSIONS = 3 };

struct session {
	ucontext_t context;
	int from, to, fd, client, copied;
};

static struct table {
	struct session *holder, *waits;
	int rows;
} tables[TABLES] = {{.rows = 10}, {.rows = 20}, {.rows = 30}};
static struct session sessions[SESSIONS] = {{.from = ORDERS, .to = STOCK},
					    {.from = STOCK, .to = ORDERS},
					    {.from = PRICES, .to = PRICES}};
static char stacks[SESSIONS][32 << 10] __attribute__((aligned(16)));
static ucontext_t loop;
static struct session *current;
static int ep;

static void next_statement(struct session *s)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = s};
	char line[16];
	if (epoll_ctl(ep, EPOLL_CTL_MOD, s->fd, &ev) < 0)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev));
	swapcontext(&s->context, &loop);
	must(read(s->fd, line, sizeof(line)));
	must(epoll_ctl(ep, EPOLL_CTL_DEL, s->fd, NULL));
}

static void lock_table(struct session *s, struct table *t)
{
	while (t->holder && t->holder != s) {
		t->waits = s;
		swapcontext(&s->context, &loop); // fault
		t->waits = NULL;
	}
	t->holder = s;
}

static void run(struct session *s)
{
	current = s;
	swapcontext(&loop, &s->context);
}

static void unlock_table(struct table *t)
{
	t->holder = NULL;
}

static void session_main(void)
{
	struct session *s = current;
	struct table *from = &tables[s->from], *to = &tables[s->to];
	for (;;) {
		next_statement(s); // LOCK TABLE
		lock_table(s, from);
		next_statement(s); // INSERT ... SELECT
		lock_table(s, to);
		to->rows += from->rows;
		unlock_table(to);
		unlock_table(from);
		s->copied++;
	}
}

static void spawn(int i)
{
	struct session *s = &sessions[i];
	int fds[2];
	pair("unix", fds);
	s->fd = fds[0];
	s->client = fds[1];
	must(getcontext(&s->context));
	s->context.uc_stack.ss_sp = stacks[i];
	s->context.uc_stack.ss_size = sizeof(stacks[i]);
	s->context.uc_link = &loop;
	makecontext(&s->context, session_main, 0);
	run(s);
}

static void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	run(ev.data.ptr);
	for (int i = 0; i < TABLES; i++)
		if (tables[i].waits && !tables[i].holder)
			run(tables[i].waits);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SESSIONS; i++)
		spawn(i);
	for (int statement = 0; statement < 2; statement++)
		for (int i = 0; i < SESSIONS; i++) {
			must(write(sessions[i].client, "statement", 9));
			turn();
		}
	must(sessions[2].copied == 1 ? 0 : -1);
	say("ready");
	for (;;)
		turn();
}

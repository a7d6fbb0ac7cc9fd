// SPDX-License-Identifier: MIT
//
// clean.c - programs in which nothing is wrong, and which look as if. `clean
// CASE` prints "ready" once its state is final and then sleeps, or ends.
#include "clean.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

int ep;

_Noreturn void idle(void)
{
	say("ready");
	co_loop(ep);
}

void reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

int *live(int n)
{
	int *fds = must_alloc(2 * (size_t)n * sizeof(*fds));
	for (int i = 0; i < n; i++) {
		pair("tcp", fds + 2 * i);
		co_start(reader, fds + 2 * i);
	}
	return fds;
}

static void keepalive(void)
{
	live(27);
	idle();
}

static void acceptor(void *arg)
{
	int listener = *(int *)arg;
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		else
			co_wait(ep, listener, EPOLLIN);
	}
}

static void accepting(void)
{
	static int listener, port;
	listener = tcp_listen(&port);
	co_start(acceptor, &listener);
	for (int i = 0; i < 5; i++) {
		close(tcp_connect(port));
		co_turn(ep, -1);
	}
	idle();
}

static struct co *idle_list[16];

static void pooled(void *arg)
{
	for (;;) {
		co_yield(); // parked for work
		(void)arg;
	}
}

static void pool(void)
{
	for (int i = 0; i < 16; i++) {
		idle_list[i] = co_new(pooled, NULL);
		co_resume(idle_list[i]);
	}
	for (int i = 0; i < 8; i++)
		co_resume(idle_list[i]);
	idle();
}

// The scheduler is a coroutine, and main's own stack waits for ever.
static ucontext_t main_uc, sched_uc;

static void sched_body(void)
{
	live(3);
	idle();
}

static void main_parked(void)
{
	must(getcontext(&sched_uc));
	sched_uc.uc_stack.ss_sp = must_map(128 << 10);
	sched_uc.uc_stack.ss_size = 128 << 10;
	sched_uc.uc_link = &main_uc;
	makecontext(&sched_uc, sched_body, 0);
	must(swapcontext(&main_uc, &sched_uc));
}

static void created(void)
{
	for (int i = 0; i < 16; i++)
		idle_list[i] = co_new(pooled, NULL);
	live(1);
	idle();
}

// Waits by poll and select: no epoll set at all; descriptors are closed, and
// the waiters resumed by the loop's own table.
static struct {
	struct co *co;
	int fd;
} waits[4];

static void poll_waiter(void *arg)
{
	int i = (int)(intptr_t)arg;
	char byte;
	while (read(waits[i].fd, &byte, 1) < 0 && errno == EAGAIN)
		co_yield();
}

static void polled(bool by_select)
{
	int fds[8];
	for (int i = 0; i < 4; i++) {
		pair("pipe", fds + 2 * i);
		waits[i].fd = fds[2 * i];
		waits[i].co = co_new(poll_waiter, (void *)(intptr_t)i);
		co_resume(waits[i].co);
	}
	must(write(fds[1], "x", 1));
	must(close(fds[4]));
	struct pollfd p[4];
	fd_set set;
	FD_ZERO(&set);
	for (int i = 0; i < 4; i++) {
		p[i] = (struct pollfd){.fd = i == 2 ? -1 : fds[2 * i], .events = POLLIN};
		if (i != 2)
			FD_SET(fds[2 * i], &set);
	}
	if (by_select)
		must(select(fds[7] + 1, &set, NULL, NULL, NULL));
	else
		must(poll(p, 4, -1));
	co_resume(waits[0].co);
	FD_CLR(fds[0], &set);
	FD_SET(fds[2], &set);
	FD_SET(fds[6], &set);
	p[0].fd = -1;
	say("ready");
	if (by_select)
		must(select(fds[7] + 1, &set, NULL, NULL, NULL));
	else
		must(poll(p, 4, -1));
}

static void by_poll(void)
{
	polled(false);
}

static void by_select(void)
{
	polled(true);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"keepalive", keepalive},
	{"accepting", accepting},
	{"pool", pool},
	{"main_parked", main_parked},
	{"created", created},
	{"poll", by_poll},
	{"select", by_select},
	{"finished", clean_finished},
	{"dup_open", clean_dup_open},
	{"self_close", clean_self_close},
	{"reaper", clean_reaper},
	{"by_hand", clean_by_hand},
	{"cancelled_map", clean_cancelled_map},
	{"cancelled_heap", clean_cancelled_heap},
	{"ending", clean_ending},
	{"ending_closes", clean_ending_closes},
	{"drain", clean_drain},
	{"numbers", clean_numbers},
	{"closeall", clean_closeall},
	{"takeback", clean_takeback},
	{"takeback_later", clean_takeback_later},
	{"failed_close", clean_failed_close},
	{"vfork", clean_vfork},
	{"fork", clean_fork},
	{"child_holds", clean_child_holds},
	{"in_flight", clean_in_flight},
	{"thread_reads", clean_thread_reads},
	{"two_sources", clean_two_sources},
	{"moved", clean_moved},
	{"queued", clean_queued},
	{"deleted", clean_deleted},
};

int main(int argc, char **argv)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	fprintf(stderr, "clean: which case?\n");
	return 2;
}

// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// expect: also CTP026
// expect: also CTP003
// end: timeout
//
// A helper of the server, another program, has inherited its epoll set. Two sessions ask the same backend. One
// modifies a registration that it never made, and waits: the kernel's ENOENT is not looked at. That another
// process has the set, too, can neither have told the session of its answer, nor be an excuse.
#include <errno.h>

#include "helper.h"

static struct session {
	int fd, backend, got;
	struct co *co;
} sessions[2];

static void wait_answer(struct session *s, int op)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
	epoll_ctl(ep, op, s->fd, &ev);
	co_yield(); // fault
}

static void serve(void *arg)
{
	struct session *s = arg;
	char buf[64];
	ssize_t n;
	must(write(s->fd, "GET /", 5));
	int op = s == &sessions[0] ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	for (;;) {
		while (!co_blocked(n = read(s->fd, buf, sizeof(buf))))
			s->got += (int)must(n);
		wait_answer(s, op);
		op = EPOLL_CTL_MOD;
	}
}

static NOINLINE void begin(struct session *s)
{
	int fds[2];
	pair("tcp", fds);
	s->fd = fds[0];
	s->backend = fds[1];
	s->co = co_new(serve, s);
	co_resume(s->co);
}

static void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1)
		co_resume(((struct session *)ev.data.ptr)->co);
}

int main(int argc, char **argv)
{
	if (is_helper(argc, argv))
		help();
	make_set_and_helper(argv[0]);
	for (int i = 0; i < 2; i++)
		begin(&sessions[i]);
	for (int i = 0; i < 2; i++)
		must(write(sessions[i].backend, "200", 3));
	while (!sessions[0].got)
		turn();
	say("ready");
	for (;;)
		turn();
}

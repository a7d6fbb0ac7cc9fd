// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A helper process keeps the server's registry: an epoll set with a row for each
// session, whose data is what leads to it. The helper was forked and has begun a
// program anew; the server itself has closed its number of the set. Asked, the
// helper reads the rows and hands them back.
#include "ordered.h"

#define SESSIONS 3
#define REGISTRY 40
#define REQUESTS 41
#define ANSWERS 42

struct session {
	struct co *co;
	int fd;
};

static int ep, sockets[SESSIONS], requests, answers;

static void serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

// The helper's program: for each request, what the registry's ready rows hold.
static int helper(void)
{
	struct epoll_event ev[SESSIONS];
	char request;
	while (read(REQUESTS, &request, 1) == 1) {
		int n = (int)must(epoll_wait(REGISTRY, ev, SESSIONS, 0));
		for (int i = 0; i < n; i++)
			must(write(ANSWERS, &ev[i].data.u64, sizeof(ev[i].data.u64)));
	}
	return 0;
}

static NOINLINE void enter(int registry, int i)
{
	int fds[2], always[2];
	pair("tcp", fds);
	sockets[i] = fds[0];
	struct session *s = must_alloc(sizeof(*s));
	s->fd = fds[0];
	s->co = co_new(serve, (void *)(intptr_t)fds[0]);
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
	must(pipe(always)); // of the row; it can be read from at any time
	must(write(always[1], "x", 1));
	must(epoll_ctl(registry, EPOLL_CTL_ADD, always[0], &ev));
	co_resume(s->co);
}

static NOINLINE void start_helper(int registry, const char *program)
{
	int ask[2], answer[2];
	must(pipe(ask));
	must(pipe(answer));
	if (must(fork()) == 0) {
		must(dup2(registry, REGISTRY));
		must(dup2(ask[0], REQUESTS));
		must(dup2(answer[1], ANSWERS));
		closefrom(ANSWERS + 1);
		execl(program, program, "helper", NULL);
		_exit(1);
	}
	requests = ask[1];
	answers = answer[0];
	close(ask[0]);
	close(answer[1]);
	close(registry);
}

static NOINLINE void close_sessions(void)
{
	for (int i = 0; i < SESSIONS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void ask_helper(void)
{
	must(write(requests, "?", 1));
	for (int i = 0; i < SESSIONS; i++) {
		struct session *s;
		must(read(answers, &s, sizeof(s)) == sizeof(s) ? 0 : -1);
		co_resume(s->co);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return helper();
	int registry = (int)must(epoll_create1(0));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++)
		enter(registry, i);
	start_helper(registry, argv[0]);
	close_sessions();
	serve_until_ordered(ep);
	ask_helper();
	return all_resumed(SESSIONS);
}

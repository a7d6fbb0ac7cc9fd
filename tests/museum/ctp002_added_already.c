// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// A proxy whose scheduler registers what a session waits for, once the session has suspended. It remembers
// what it has added. A request that came hop by hop drops its upstream past that memory; the next upstream has
// the number, its row is only modified, and what the kernel says of that, ENOENT, is not looked at.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define NUMBERS 64
#define SESSIONS 2

static struct session {
	struct co *co;
	int upstream, wish, answers, requests;
} sessions[SESSIONS];
static struct session *by_number[NUMBERS];
static bool added[NUMBERS];
static int ep, backend, port;

static void wait_readable(struct session *s, int fd)
{
	s->wish = fd;
	co_yield();
}

static void apply_wish(struct session *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = s->wish};
	epoll_ctl(ep, added[s->wish] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->wish, &ev);
	added[s->wish] = true;
	by_number[s->wish] = s;
}

static void run(struct session *s)
{
	co_resume(s->co);
	apply_wish(s);
}

static void forget(int fd)
{
	added[fd] = false;
	close(fd);
}

static NOINLINE bool read_answer(struct session *s)
{
	char answer[64];
	wait_readable(s, s->upstream); // fault
	return read(s->upstream, answer, sizeof(answer)) > 0;
}

static void serve(void *arg)
{
	struct session *s = arg;
	for (;;) {
		s->upstream = tcp_connect(port);
		must(fcntl(s->upstream, F_SETFL, O_NONBLOCK));
		must(write(s->upstream, "GET /", 5));
		s->requests++;
		s->answers += read_answer(s);
		if (s == &sessions[1] && s->answers == 3)
			close(s->upstream);
		else
			forget(s->upstream);
	}
}

static void answer(void)
{
	char request[8];
	int fd = (int)must(accept(backend, NULL, NULL));
	must(read(fd, request, 5));
	must(write(fd, "200", 3));
}

static void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1)
		run(by_number[ev.data.fd]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	backend = tcp_listen(&port);
	must(fcntl(backend, F_SETFL, 0));
	for (int i = 0; i < SESSIONS; i++) {
		sessions[i].co = co_new(serve, &sessions[i]);
		run(&sessions[i]);
	}
	while (sessions[1].answers < 3 || sessions[0].answers < 4) {
		answer();
		turn();
	}
	answer();
	say("ready");
	for (;;)
		turn();
}

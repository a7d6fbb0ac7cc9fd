// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGUSR1
//
// Each session has a socket to which its answer will come, and that is bound to
// an abstract name with the session's address in it. Whoever the answer is for is
// asked of the socket (getsockname), and the kernel alone keeps it.
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ordered.h"

#define SESSIONS 2

static int fds[SESSIONS], answers[SESSIONS], ep;

static NOINLINE void keep(int i, const struct co *c)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0co:"};
	memcpy(name.sun_path + 4, &c, sizeof(c));
	answers[i] = (int)must(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	must(bind(answers[i], (const void *)&name, offsetof(struct sockaddr_un, sun_path) + 4 + sizeof(c)));
	memset(&name, 0, sizeof(name));
	__asm__ volatile("" : : "r"(&name) : "memory");
}

static NOINLINE struct co *find(int i)
{
	struct sockaddr_un name;
	socklen_t n = sizeof(name);
	struct co *c;
	must(getsockname(answers[i], (void *)&name, &n));
	memcpy(&c, name.sun_path + 4, sizeof(c));
	return c;
}

static void converse(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_session(int i)
{
	int ends[2];
	pair(i % 2 ? "unix" : "tcp", ends);
	fds[i] = ends[0];
	struct co *c = co_new(converse, (void *)(intptr_t)ends[0]);
	c->pinned = true;
	keep(i, c);
	co_resume(c);
	must(write(ends[1], "hello", 5));
	co_turn(ep, -1);
}

static NOINLINE void drop_all(void)
{
	for (int i = 0; i < SESSIONS; i++)
		close(fds[i]); // fault
}

static NOINLINE void resume_all(void)
{
	for (int i = 0; i < SESSIONS; i++)
		co_resume(find(i));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++)
		open_session(i);
	drop_all();
	serve_until_ordered(ep);
	resume_all();
	return all_resumed(SESSIONS);
}

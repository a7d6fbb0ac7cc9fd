// SPDX-License-Identifier: MIT
// expect: CTP007 suspect, 1 coroutine
// expect: also CTP026
//
// After moonbitlang/async issue 571: the parent registers a pipe, a child
// inherits it, the parent closes its number without taking the row out of the
// set. The child's copy keeps the row alive. The number is given to the next
// pipe; when the old one becomes readable, the event bears the number of the
// new one, and wakes the coroutine that waits for that.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *handles[64]; // number -> who waits
static int ep, spurious;

static void attach(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
}

static NOINLINE void detach_and_close(int fd)
{
	handles[fd] = NULL;
	close(fd); // fault
}

static void read_output(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_blocked(read(fd, buf, sizeof(buf)))) {
		handles[fd] = co_self();
		co_yield();
		spurious++;
	}
}

static NOINLINE void bus_turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1 && handles[ev.data.fd])
		co_resume(handles[ev.data.fd]);
}

// Keeps what it inherits until the parent ends.
static void spawn_child(const int *lifeline)
{
	char byte;
	if (must(fork()) != 0)
		return;
	close(lifeline[1]);
	while (read(lifeline[0], &byte, 1) > 0)
		;
	_exit(0);
}

int main(void)
{
	int old[2], fresh[2], lifeline[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe2(lifeline, O_CLOEXEC));
	pair("pipe", old);
	attach(old[0]);
	spawn_child(lifeline);
	detach_and_close(old[0]);
	pair("pipe", fresh);
	must(fresh[0] == old[0] ? 0 : -1);
	attach(fresh[0]);
	co_start(read_output, (void *)(intptr_t)fresh[0]);
	must(write(old[1], "stale", 5));
	while (!spurious)
		bus_turn();
	say("ready");
	for (;;)
		bus_turn();
}

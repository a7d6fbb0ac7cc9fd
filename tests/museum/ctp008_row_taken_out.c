// SPDX-License-Identifier: MIT
// expect: CTP008 suspect..proven, 1 coroutine
// engine: both
// patched: slot slot_back struct saved
//
// A loop whose rows carry descriptors. For an event it takes the waiter from its
// slot, clears the slot and the row, and resumes the waiter, unless the server
// is about to go read-only: then it puts the connection off, by its number alone.
// Slot and row are gone by the time it comes back to it.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define FDS 64
#define CONNS 3

static struct co *waiters[FDS];
static int put_off[FDS], nput_off, ep, served;
static bool read_only;
static int fds[CONNS][2];

static ssize_t receive(int fd, char *buf, size_t n)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
	ssize_t got;
	while (co_blocked(got = recv(fd, buf, n, 0))) {
		waiters[fd] = co_self();
		must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
		co_yield(); // fault
	}
	return got;
}

static void conn_main(void *arg)
{
	int fd = *(int *)arg;
	char request[32];
	while (receive(fd, request, sizeof(request)) > 0)
		served++;
}

static NOINLINE struct co *take(int fd)
{
	struct co *c = waiters[fd];
	waiters[fd] = NULL;
	epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
	return c;
}

static NOINLINE void on_event(int fd)
{
	struct co *c = take(fd);
	if (!c)
		return;
	if (read_only)
		put_off[nput_off++] = fd;
	else
		co_resume(c);
}

static NOINLINE void go_read_write(void)
{
	read_only = false;
	while (nput_off > 0)
		on_event(put_off[--nput_off]);
}

static NOINLINE void wipe(void) // what dead frames hold is no way to a coroutine
{
	char dead[16 << 10];
	__builtin_memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	wipe();
	if (epoll_wait(ep, &ev, 1, -1) == 1)
		on_event(ev.data.fd);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		pair("tcp", fds[i]);
		co_start(conn_main, &fds[i][0]);
		must(write(fds[i][1], "PUT", 3));
		turn();
	}
	read_only = true;
	must(write(fds[1][1], "PUT", 3));
	turn();
	go_read_write();
	for (int i = 0; i < CONNS; i += 2) {
		must(write(fds[i][1], "PUT", 3));
		turn();
	}
	say("ready");
	for (;;)
		turn();
}

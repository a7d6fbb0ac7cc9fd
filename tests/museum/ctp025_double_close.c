// SPDX-License-Identifier: MIT
// expect: CTP025 likely..proven, 2 coroutines
//
// A connection is closed twice, in its reader and in its destructor; in between
// the loop for uploads has made its epoll set, which got the number. The second
// close takes the set, and whoever waits there is never told. The thread of that
// loop sees EBADF at its next turn and gives up.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, upload_ep, uploads[2][2], sweep, idle;
static struct conn { int fd; } conn;

static void uploader(void *arg)
{
	char chunk[256];
	while (co_read(upload_ep, *(int *)arg, chunk, sizeof(chunk)) > 0)
		;
}

static NOINLINE void conn_free(struct conn *c)
{
	close(c->fd); // fault
}

static void sweeper(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(upload_ep, sweep, &n, sizeof(n)));
	conn_free(&conn);
}

static void heartbeat(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, idle, &n, sizeof(n)));
}

static void *upload_loop(void *arg)
{
	(void)arg;
	while (co_turn(upload_ep, -1))
		;
	say("ready");
	return NULL;
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	sweep = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	idle = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	pair("unix", fds);
	conn.fd = fds[0];
	close(conn.fd);
	upload_ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(upload_ep == conn.fd ? 0 : -1);
	for (int i = 0; i < 2; i++) {
		pair("tcp", uploads[i]);
		co_start(uploader, &uploads[i][0]);
	}
	co_start(heartbeat, NULL);
	co_start(sweeper, NULL);
	co_thread(upload_loop, NULL);
	must(write(sweep, &(uint64_t){1}, 8));
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: clean
//
// Connections with a number for the reader and a duplicate for the writer. A reader that
// is woken for half a message tries again; there is nobody else whom that served.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 6

static int ep, served;
static struct conn {
	int in, out, peer;
} conns[CONNS];

static void reader(void *arg)
{
	struct conn *c = arg;
	char half[2];
	for (;;) {
		must(co_read(ep, c->in, half, sizeof(half)));
		served++;
	}
}

static void writer(void *arg)
{
	struct conn *c = arg;
	static char block[4096];
	for (;;)
		must(co_write(ep, c->out, block, sizeof(block)));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		int fds[2];
		pair("unix", fds);
		conns[i] = (struct conn){fds[0], (int)must(dup(fds[0])), fds[1]};
		co_start(reader, &conns[i]);
		co_start(writer, &conns[i]);
	}
	for (int n = 0; n < 5; n++)
		for (int i = 0; i < CONNS; i++) {
			int before = served;
			must(write(conns[i].peer, "x", 1));
			while (served == before)
				co_turn(ep, -1);
		}
	say("ready");
	co_loop(ep);
}

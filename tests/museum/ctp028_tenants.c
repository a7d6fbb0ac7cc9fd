// SPDX-License-Identifier: MIT
// expect: CTP028 suspect, 2 coroutines
// end: timeout
//
// A set for each tenant, and a loop that asks each in turn without waiting, and naps
// in between. After a change one tenant has a new set; the connections that it had
// stay in the old one, which is not asked any more.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { TENANTS = 2, EACH = 2 };

static int sets[TENANTS], served;
static struct conn {
	int set, fd, client;
} conns[TENANTS][EACH];

static void serve(void *arg)
{
	struct conn *c = arg;
	char request[32];
	while (co_read(c->set, c->fd, request, sizeof(request)) > 0) // fault
		served++;
}

static void turn(void)
{
	for (int t = 0; t < TENANTS; t++)
		co_turn(sets[t], 0);
	nap_ms(1);
}

static void ask(int count)
{
	int until = served + count;
	for (int t = 0; t < TENANTS; t++)
		for (int i = 0; i < EACH; i++)
			must(write(conns[t][i].client, "GET /", 5));
	while (served < until)
		turn();
}

int main(void)
{
	for (int t = 0; t < TENANTS; t++) {
		sets[t] = (int)must(epoll_create1(EPOLL_CLOEXEC));
		for (int i = 0; i < EACH; i++) {
			int fds[2];
			pair("unix", fds);
			conns[t][i] = (struct conn){sets[t], fds[0], fds[1]};
			co_start(serve, &conns[t][i]);
		}
	}
	ask(TENANTS * EACH);
	sets[1] = (int)must(epoll_create1(EPOLL_CLOEXEC));
	ask(EACH);
	say("ready");
	for (;;)
		turn();
}

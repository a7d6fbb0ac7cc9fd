// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A set for each tenant, and a loop that asks each in turn without waiting, and naps
// in between. Each has a connection with requests in every turn, and one that is
// silent.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { TENANTS = 2, EACH = 2 };

static int sets[TENANTS], served;
static struct conn {
	int tenant, fd, client;
} conns[TENANTS][EACH];

static void serve(void *arg)
{
	struct conn *c = arg;
	char request[32];
	while (co_read(sets[c->tenant], c->fd, request, sizeof(request)) > 0)
		served++;
}

static void turn(void)
{
	for (int t = 0; t < TENANTS; t++)
		co_turn(sets[t], 0);
	nap_ms(1);
}

static void ask(int i)
{
	int until = served + TENANTS;
	for (int t = 0; t < TENANTS; t++)
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
			conns[t][i] = (struct conn){t, fds[0], fds[1]};
			co_start(serve, &conns[t][i]);
		}
	}
	for (int i = 0; i < EACH; i++)
		ask(i);
	say("ready");
	for (;;)
		ask(0);
}

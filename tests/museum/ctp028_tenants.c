// SPDX-License-Identifier: MIT
// expect: CTP028 suspect, 2 coroutines
// end: timeout
//
// A set for each tenant, and a loop that asks each in turn without waiting, and naps
// in between. After a change one tenant has a new set; the connections that it had
// stay in the old one, which is not asked any more.
#include "tenants.h"

static void serve(void *arg)
{
	struct conn *c = arg;
	char request[32];
	while (co_read(c->set, c->fd, request, sizeof(request)) > 0) // fault
		served++;
}

int main(void)
{
	connect_all(serve);
	ask(0, EACH, TENANTS * EACH);
	sets[1] = (int)must(epoll_create1(EPOLL_CLOEXEC));
	ask(0, EACH, EACH);
	say("ready");
	for (;;)
		turn();
}

// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A set for each tenant, and a loop that asks each in turn without waiting, and naps
// in between. Each has a connection with requests in every turn, and one that is
// silent.
#include "tenants.h"

static void serve(void *arg)
{
	struct conn *c = arg;
	char request[32];
	while (co_read(sets[c->tenant], c->fd, request, sizeof(request)) > 0)
		served++;
}

int main(void)
{
	connect_all(serve);
	for (int i = 0; i < EACH; i++)
		ask(i, i + 1, TENANTS);
	say("ready");
	for (;;)
		ask(0, 1, TENANTS);
}

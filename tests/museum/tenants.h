// SPDX-License-Identifier: MIT
//
// tenants.h - what the exhibits share that have a set for each tenant, and a loop that asks each in turn without
// waiting, and naps in between.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { TENANTS = 2, EACH = 2 };

static int sets[TENANTS], served;
static struct conn {
	int tenant, set, fd, client;
} conns[TENANTS][EACH];

static void turn(void)
{
	for (int t = 0; t < TENANTS; t++)
		co_turn(sets[t], 0);
	nap_ms(1);
}

// Each tenant's connections below `end`, from `first` on, have a request; until so many are served.
static void ask(int first, int end, int answers)
{
	int until = served + answers;
	for (int t = 0; t < TENANTS; t++)
		for (int i = first; i < end; i++)
			must(write(conns[t][i].client, "GET /", 5));
	while (served < until)
		turn();
}

static void connect_all(co_fn *serve)
{
	for (int t = 0; t < TENANTS; t++) {
		sets[t] = (int)must(epoll_create1(EPOLL_CLOEXEC));
		for (int i = 0; i < EACH; i++) {
			int fds[2];
			pair("unix", fds);
			conns[t][i] = (struct conn){t, sets[t], fds[0], fds[1]};
			co_start(serve, &conns[t][i]);
		}
	}
}

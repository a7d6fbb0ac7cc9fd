// SPDX-License-Identifier: MIT
//
// A pool of workers that leave their registration behind: each adds its
// connection once, and when it has had what it wanted it goes back to the pool.
// The loop closes the descriptors afterwards.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WORKERS 4

static struct co *volatile pooled[WORKERS]; // no dead store: the pool leads to its workers
static int ep, npooled, conns[WORKERS][2];

static inline void back_to_pool(void)
{
	pooled[npooled++] = co_self();
	co_yield(); // parked for work
}

static inline void open_conns(co_fn *worker)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < WORKERS; i++) {
		pair("unix", conns[i]);
		co_start(worker, &conns[i][0]);
	}
}

static inline _Noreturn void close_conns(void)
{
	while (npooled < WORKERS)
		co_turn(ep, -1);
	for (int i = 0; i < WORKERS; i++)
		close(conns[i][0]);
	say("ready");
	co_loop(ep);
}

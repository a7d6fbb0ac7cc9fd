// SPDX-License-Identifier: MIT
//
// sets.h - a loop over select. Who waits for a descriptor stands in one of two tables: to read it, or to write.
#pragma once

#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { SETS_MAX = 64 };
static struct co *sets_waiters[2][SETS_MAX]; // to read [0], to write [1]

static inline void sets_wait(int way, int fd)
{
	sets_waiters[way][fd] = co_self();
	co_yield();
}

// What came, without a row for it any more; NULL: nothing.
static inline struct co *sets_take(int way, int fd, const fd_set *came)
{
	struct co *c = sets_waiters[way][fd];
	if (!c || !FD_ISSET(fd, came))
		return NULL;
	sets_waiters[way][fd] = NULL;
	return c;
}

// Waits once. The number of descriptors that are ready.
static inline int sets_select(fd_set came[2])
{
	for (int way = 0; way < 2; way++) {
		FD_ZERO(&came[way]);
		for (int fd = 0; fd < SETS_MAX; fd++)
			if (sets_waiters[way][fd])
				FD_SET(fd, &came[way]);
	}
	return select(SETS_MAX, &came[0], &came[1], NULL, NULL);
}

static inline void sets_turn(void)
{
	fd_set came[2];
	if (sets_select(came) <= 0)
		return;
	for (int way = 0; way < 2; way++)
		for (int fd = 0; fd < SETS_MAX; fd++) {
			struct co *c = sets_take(way, fd, &came[way]);
			if (c)
				co_resume(c);
		}
}

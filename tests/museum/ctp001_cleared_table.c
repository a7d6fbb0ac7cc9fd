// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 4 coroutines
//
// Weak references, as complements: a reset clears those of the connections that it
// closes, and so loses the readers. The others' are still there.
#include "lost.h"

#define READERS 10
#define CLOSED 4

static uintptr_t weak[READERS];
static int sockets[READERS];

static NOINLINE void open_one(int i)
{
	int fds[2];
	pair("unix", fds);
	sockets[i] = fds[0];
	struct co *c = co_new(lost_reader, (void *)(intptr_t)fds[0]);
	weak[i] = ~(uintptr_t)c;
	co_resume(c);
	must(write(fds[1], "data", 4));
	co_turn(ep, -1);
}

static NOINLINE void reset(void)
{
	for (int i = 0; i < CLOSED; i++) {
		weak[i] = ~(uintptr_t)0;
		close(sockets[i]); // fault
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < READERS; i++)
		open_one(i);
	reset();
	serve_on();
}

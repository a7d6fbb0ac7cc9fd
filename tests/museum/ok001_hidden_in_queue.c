// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// order: SIGUSR1
//
// Whoever is evicted is a message of a System V queue, which the program removes when it is asked to end.
#include <sys/ipc.h>
#include <sys/msg.h>

#include "evicted.h"

enum { EVICTED = 3 };
struct evicted {
	long type;
	uint64_t handle;
};
static int queue;

static void on_end(int number)
{
	(void)number;
	msgctl(queue, IPC_RMID, NULL);
	_exit(0);
}

static NOINLINE void keep(int i, struct co *c)
{
	struct evicted e = {.type = i + 1, .handle = (uintptr_t)c};
	must(msgsnd(queue, &e, sizeof(e.handle), 0));
	memset(&e, 0, sizeof(e));
	__asm__ volatile("" : : "r"(&e) : "memory");
}

static NOINLINE struct co *find(int i)
{
	struct evicted e;
	must(msgrcv(queue, &e, sizeof(e.handle), i + 1, 0));
	return (struct co *)(uintptr_t)e.handle;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_end};
	queue = (int)must(msgget(IPC_PRIVATE, 0600));
	must(sigaction(SIGTERM, &act, NULL));
	must(sigaction(SIGINT, &act, NULL));
	int r = evict_and_serve(5, EVICTED);
	msgctl(queue, IPC_RMID, NULL);
	return r;
}

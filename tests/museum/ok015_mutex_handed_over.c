// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A mutex that everyone wants: who has it waits for its client in the middle, and
// the others queue up behind. It goes from hand to hand as the clients speak, and has
// gone round twice.
#include "locks.h"

#define WORKERS 4
#define ROUNDS 2

static struct fiber_mutex journal;
static int ep, fds[WORKERS], peers[WORKERS], entries, rounds_left = ROUNDS;

static void append(int fd)
{
	char entry[32];
	fiber_lock(&journal);
	if (co_read(ep, fd, entry, sizeof(entry)) > 0)
		entries++;
	fiber_unlock(&journal);
}

static void worker(void *arg)
{
	int i = (int)(intptr_t)arg;
	for (int n = 0; n < ROUNDS + 1; n++)
		append(fds[i]);
	ended++;
}

static NOINLINE void start(int i)
{
	int both[2];
	pair("unix", both);
	fds[i] = both[0];
	peers[i] = both[1];
	co_start(worker, (void *)(intptr_t)i);
}

// Everyone's client speaks once, in the order in which they queue.
static NOINLINE void one_round(void)
{
	for (int i = 0; i < WORKERS; i++) {
		int before = entries;
		must(write(peers[i], "entry", 5));
		while (entries == before)
			turn_and_run(ep);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < WORKERS; i++)
		start(i);
	while (rounds_left-- > 0)
		one_round();
	must(journal.owner && journal.queue.first ? 0 : -1); // contended now
	serve_until_ordered(ep);
	one_round();
	return all_resumed(WORKERS);
}

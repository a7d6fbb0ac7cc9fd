// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// As ok001_hidden_product, but the loop looks into its set now and then, and sleeps elsewhere: when memory is
// searched, nobody waits for what the two whose descriptors are open need.
#include <poll.h>
#include <time.h>

#include "products.h"

#define TURNS 5

static NOINLINE void look(void)
{
	const struct timespec tick = {.tv_nsec = 20000000};
	struct pollfd p = {.fd = ep, .events = POLLIN};
	nanosleep(&tick, NULL);
	if (poll(&p, 1, 1) > 0)
		turn();
}

int main(void)
{
	open_all();
	for (int i = 0; i < CLOSED; i++)
		close(closed[i]); // fault
	wipe_dead_frames();
	for (int i = 0; i < TURNS; i++)
		look();
	say("ready");
	while (!ordered)
		look();
	return resume_closed();
}

// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// As ok001_hidden_product, but the loop sleeps in poll, with the epoll set among its descriptors, as a GLib
// program with another library's loop in it does: the two whose descriptors are open are well all the same.
#include <poll.h>

#include "products.h"

static NOINLINE void poll_set(void)
{
	struct pollfd p = {.fd = ep, .events = POLLIN};
	if (poll(&p, 1, -1) > 0)
		turn();
}

int main(void)
{
	open_all();
	for (int i = 0; i < CLOSED; i++)
		close(closed[i]); // fault
	wipe_dead_frames();
	say("ready");
	while (!ordered)
		poll_set();
	return resume_closed();
}

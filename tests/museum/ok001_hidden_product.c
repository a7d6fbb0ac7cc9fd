// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// The table keeps addresses multiplied by a number, which nobody searches for. Two coroutines wait
// for descriptors that are open, and only the table leads to them: so the same may be true of the four
// whose descriptors were closed.
#include "products.h"

int main(void)
{
	open_all();
	for (int i = 0; i < CLOSED; i++)
		close(closed[i]); // fault
	wipe_dead_frames();
	say("ready");
	while (!ordered)
		turn();
	return resume_closed();
}

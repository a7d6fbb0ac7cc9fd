// SPDX-License-Identifier: MIT
// expect: CTP024 likely, 1 coroutine
// engine: both
//
// A chat room: a member's own coroutine closes its socket as it leaves, but does
// not take it out of the room. The broadcaster writes to the number.
#include <unistd.h>

#include "co.h"
#include "must.h"

#define MEMBERS 3

static int room[MEMBERS][2];

static void member(void *arg)
{
	int *fds = arg;
	co_yield();
	close(fds[0]); // fault
}

static void broadcaster(void *arg)
{
	(void)arg;
	for (;;) {
		for (int i = 0; i < MEMBERS; i++)
			(void)!write(room[i][0], "news", 4); // fault
		co_yield();
	}
}

int main(void)
{
	struct co *members[MEMBERS], *b = co_new(broadcaster, NULL);
	for (int i = 0; i < MEMBERS; i++) {
		pair("unix", room[i]);
		co_resume(members[i] = co_new(member, room[i]));
	}
	co_resume(b);
	co_resume(members[1]);
	co_resume(b);
	say("ready");
	pause();
}

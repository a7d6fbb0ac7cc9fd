// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A coroutine of low priority looks at its pipe whenever the loop is through with
// the others: it is not registered anywhere, and EAGAIN is what it expects.
#include <unistd.h>

#include "co.h"
#include "must.h"

static int fds[2];

static void low_priority(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_blocked(read(fds[0], buf, sizeof(buf))))
		co_yield();
}

int main(void)
{
	struct co *c = co_new(low_priority, NULL);
	pair("pipe", fds);
	for (int i = 0; i < 500; i++)
		co_resume(c);
	say("ready");
	pause();
}

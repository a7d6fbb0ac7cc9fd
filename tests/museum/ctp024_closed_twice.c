// SPDX-License-Identifier: MIT
// expect: CTP024 suspect, 1 coroutine
//
// An upload closes its file when it sees the error, and once more where
// all its paths meet, by fclose of a stream that was made of the same number.
#include <stdio.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int fds[2];

static void upload(void *arg)
{
	FILE *f = fdopen(fds[1], "w");
	(void)arg;
	co_yield();
	close(fds[1]); // fault
	fclose(f); // fault
}

int main(void)
{
	must(pipe(fds));
	struct co *c = co_new(upload, NULL);
	co_resume(c);
	co_resume(c);
	say("ready");
	pause();
}

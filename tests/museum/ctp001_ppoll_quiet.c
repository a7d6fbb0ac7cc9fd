// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 1 coroutine
//
// Stages of a pipeline, joined by pipes, all in this process; the loop waits by
// ppoll without a timeout. The supervisor closes a stage's input instead of its
// output. The table still names the stage, but nothing can ever happen again.
#include "poller.h"

static struct poller line;
static int stages[3][2], supervise[2];
struct co *stage_of[3];

static void stage(void *arg)
{
	char item[64];
	while (poller_read(&line, *(int *)arg, item, sizeof(item)) > 0)
		;
}

static NOINLINE void end_stage(int i)
{
	for (int slot = 0; slot < line.n; slot++)
		if (line.fds[slot].fd == stages[i][0]) {
			poller_take(&line, slot);
			break;
		}
	close(stages[i][0]); // fault
}

static void supervisor(void *arg)
{
	char byte;
	(void)arg;
	poller_read(&line, supervise[0], &byte, 1);
	end_stage(1);
	say("ready");
}

static NOINLINE void turn(void)
{
	if (ppoll(line.fds, (nfds_t)line.n, NULL, NULL) > 0)
		poller_dispatch(&line, NULL);
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		pair("pipe", stages[i]);
		stage_of[i] = co_new(stage, &stages[i][0]);
		co_resume(stage_of[i]);
		must(write(stages[i][1], "item", 4));
		turn();
	}
	pair("pipe", supervise);
	co_start(supervisor, NULL);
	must(write(supervise[1], "", 1));
	for (;;)
		turn();
}

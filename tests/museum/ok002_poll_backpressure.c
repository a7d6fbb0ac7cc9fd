// SPDX-License-Identifier: MIT
// expect: clean
//
// Backpressure in a poll loop: while the sink is full, the source's descriptor is
// left out of the set under its waiting reader; when the sink has drained, the
// slot is put back.
#include "poller.h"

static struct poller loop;
static struct co *held;
static int source[2], drained[2], lines;

static void source_reader(void *arg)
{
	char line[64];
	(void)arg;
	while (poller_read(&loop, source[0], line, sizeof(line)) > 0)
		lines++;
}

static void sink(void *arg)
{
	char byte;
	(void)arg;
	while (poller_read(&loop, drained[0], &byte, 1) > 0) {
		poller_put(&loop, source[0], POLLIN, held);
		held = NULL;
	}
}

static NOINLINE void hold_source(void)
{
	for (int i = 0; i < loop.n; i++)
		if (loop.fds[i].fd == source[0])
			held = poller_take(&loop, i);
}

int main(void)
{
	pair("pipe", source);
	pair("pipe", drained);
	co_start(source_reader, NULL);
	co_start(sink, NULL);
	for (int i = 0; i < 3; i++) {
		poller_turn(&loop, 0);
		hold_source();
		must(write(source[1], "line", 4));
		poller_turn(&loop, 1); // nothing comes: it is held
		must(write(drained[1], "", 1));
		while (lines == i)
			poller_turn(&loop, -1);
	}
	say("ready");
	poller_loop(&loop);
}

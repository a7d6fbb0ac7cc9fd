// SPDX-License-Identifier: MIT
// expect: fact CTP003
// engine: both
//
// A converter sends its results through a pipe, and a collector reads them. The
// converter refuses its only file, and ends without a word: the end to write to stays
// open, in the process's own table, and the collector waits for the first result. An idle
// worker looks the same: so it is said, and no finding.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, results[2], collected;

static void collector(void *arg)
{
	char result;
	(void)arg;
	while (co_read(ep, results[0], &result, 1) > 0)
		collected++;
}

static void converter(void *arg)
{
	const char *file = arg;
	if (*file != '/')
		return; // its end stays open
	must(write(results[1], "r", 1));
	close(results[1]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", results);
	co_start(collector, NULL);
	co_start(converter, "not a path");
	say("ready");
	co_loop(ep);
}

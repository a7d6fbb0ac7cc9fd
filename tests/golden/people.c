// SPDX-License-Identifier: MIT
//
// Functions that stand in the stacks of synthetic traces. Nobody calls them;
// only their addresses and lines matter, so keep the lines where they are.
#include "people.h"

void people_wait_readable(int fd)
{
	people_sink += fd;
}

void people_conn_reader(int fd)
{
	people_wait_readable(fd + 1);
	people_sink++;
}

void people_reaper(int fd)
{
	people_sink -= fd;
}

void people_accept(int fd)
{
	people_sink *= fd;
}

void people_spawn(int fd)
{
	people_sink ^= fd;
}

volatile int people_sink;

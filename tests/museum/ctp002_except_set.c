// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
//
// A console server around select. Each line has a row: its descriptor, and which of
// the three sets it stands in. A line that was read until EAGAIN goes back to the
// set that its row names, and one row names the set of exceptional conditions.
#include <fcntl.h>
#include <stdbool.h>
#include <sys/select.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { LINES = 3, READ, WRITE, EXCEPT };

static struct line {
	int which, fd, peer, commands;
	struct co *co;
} lines[LINES] = {{.which = READ}, {.which = EXCEPT}, {.which = READ}};

static void serve(void *arg)
{
	struct line *l = arg;
	char command[32];
	for (;;) {
		while (co_blocked(read(l->fd, command, sizeof(command))))
			co_yield(); // fault
		l->commands++;
	}
}

static void turn(void)
{
	fd_set in, except;
	int high = 0;
	FD_ZERO(&in);
	FD_ZERO(&except);
	for (int i = 0; i < LINES; i++) {
		FD_SET(lines[i].fd, lines[i].which == READ ? &in : &except);
		high = lines[i].fd > high ? lines[i].fd : high;
	}
	int n = select(high + 1, &in, NULL, &except, NULL);
	for (int i = 0; n > 0 && i < LINES; i++)
		if (FD_ISSET(lines[i].fd, &in) || FD_ISSET(lines[i].fd, &except))
			co_resume(lines[i].co);
}

int main(void)
{
	for (int i = 0; i < LINES; i++) {
		int fds[2];
		pair("tcp", fds);
		lines[i].fd = fds[0];
		lines[i].peer = fds[1];
		lines[i].co = co_new(serve, &lines[i]);
		co_resume(lines[i].co);
	}
	for (int i = 0; i < LINES; i++)
		must(write(lines[i].peer, "show\n", 5));
	while (!lines[0].commands || !lines[2].commands)
		turn();
	say("ready");
	while (true)
		turn();
}

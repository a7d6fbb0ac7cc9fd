// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
//
// A loop around select(2) that keeps who waits by descriptor. A command closes
// one under its reader; select says EBADF, and the loop weeds the bad number
// out of its sets. The table still names the coroutine, and nobody looks there.
#include <errno.h>
#include <fcntl.h>
#include <sys/select.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *reader_of[FD_SETSIZE];
static fd_set wanted;
static int lines[3][2], command[2];

static ssize_t sel_read(int fd, void *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(fd, buf, n))) {
		FD_SET(fd, &wanted);
		reader_of[fd] = co_self();
		co_yield();
	}
	return r;
}

static void line_reader(void *arg)
{
	char buf[64];
	while (sel_read(*(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void operator_console(void *arg)
{
	char line;
	(void)arg;
	while (sel_read(command[0], &line, 1) > 0)
		close(lines[line - '0'][0]); // fault
}

static NOINLINE void weed_out(void)
{
	for (int fd = 0; fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, &wanted) && fcntl(fd, F_GETFD) < 0)
			FD_CLR(fd, &wanted);
	say("ready");
}

static NOINLINE void turn(void)
{
	fd_set ready = wanted;
	int n = select(FD_SETSIZE, &ready, NULL, NULL, NULL);
	if (n < 0 && errno == EBADF)
		weed_out();
	for (int fd = 0; n > 0 && fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, &ready)) {
			FD_CLR(fd, &wanted);
			co_resume(reader_of[fd]);
		}
}

int main(void)
{
	pair("pipe", command);
	co_start(operator_console, NULL);
	for (int i = 0; i < 3; i++) {
		pair("tcp", lines[i]);
		co_start(line_reader, &lines[i][0]);
	}
	must(write(lines[1][1], "RING", 4));
	turn();
	must(write(command[1], "1", 1));
	for (;;)
		turn();
}

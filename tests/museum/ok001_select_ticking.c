// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A select loop that ticks every millisecond and keeps deadlines itself: a
// connection is closed, and its reader hears of it twenty ticks later.
#include <sys/select.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *readers[FD_SETSIZE];
static fd_set wanted;
static int conns[3][2], due[FD_SETSIZE], ended;

static void conn_reader(void *arg)
{
	char buf[64];
	int fd = *(int *)arg;
	ssize_t r;
	while (co_blocked(r = read(fd, buf, sizeof(buf)))) {
		FD_SET(fd, &wanted);
		readers[fd] = co_self();
		co_yield();
	}
	ended++;
}

static NOINLINE void conn_expire(int fd)
{
	FD_CLR(fd, &wanted);
	close(fd);
	due[fd] = 20;
}

static NOINLINE void tick(void)
{
	for (int fd = 0; fd < FD_SETSIZE; fd++)
		if (due[fd] && --due[fd] == 0)
			co_resume(readers[fd]);
}

static NOINLINE void turn(void)
{
	fd_set ready = wanted;
	struct timeval ms = {.tv_usec = 1000};
	int n = select(FD_SETSIZE, &ready, NULL, NULL, &ms);
	for (int fd = 0; n > 0 && fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, &ready)) {
			FD_CLR(fd, &wanted);
			co_resume(readers[fd]);
		}
	tick();
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	for (int i = 0; i < 3; i++) {
		turn();
		conn_expire(conns[i][0]);
	}
	while (ended < 3)
		turn();
	say("ready");
	return 0;
}

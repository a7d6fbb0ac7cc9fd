// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
//
// select is told how many bits to look at. When the highest descriptor goes, the
// new highest is looked for, and passed on without adding one: the bit of the
// last reader stays in the set, but the kernel does not read so far.
#include <sys/select.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *reader_of[FD_SETSIZE];
static fd_set wanted;
static int ports[4][2], bits;

static void port_reader(void *arg)
{
	int fd = *(int *)arg;
	char buf[64];
	ssize_t r;
	while ((r = read(fd, buf, sizeof(buf))) > 0 || co_blocked(r)) {
		FD_SET(fd, &wanted);
		reader_of[fd] = co_self();
		bits = fd >= bits ? fd + 1 : bits;
		co_yield();
	}
	close(fd);
	bits = FD_SETSIZE - 1;
	while (bits && !FD_ISSET(bits, &wanted))
		bits--;
	say("ready");
}

static NOINLINE void turn(void)
{
	fd_set ready = wanted;
	int n = select(bits, &ready, NULL, NULL, NULL);
	for (int fd = 0; n > 0 && fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, &ready)) {
			FD_CLR(fd, &wanted);
			co_resume(reader_of[fd]);
		}
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		pair("unix", ports[i]);
	for (int i = 0; i < 4; i++) {
		co_start(port_reader, &ports[i][0]);
		must(write(ports[i][1], "open", 4));
		turn();
	}
	close(ports[3][1]);
	for (;;)
		turn();
}

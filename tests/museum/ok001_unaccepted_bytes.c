// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A hand-over port: the outgoing half of the server connects to itself, writes
// what the incoming half shall continue, and closes. The connection is complete
// and waits in the listener's queue until the server gets USR1 and accepts it.
#include <sys/socket.h>

#include "ordered.h"

#define TRANSFERS 3

struct hand_over {
	uint32_t magic, n;
	struct {
		struct co *transfer;
		int64_t offset;
	} items[TRANSFERS];
};

static int ep, port, listener, sockets[TRANSFERS];

static void transfer(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char block[128];
	while (co_read(ep, fd, block, sizeof(block)) > 0)
		;
	ended++;
}

static NOINLINE struct co *begin(int i)
{
	int fds[2];
	pair("unix", fds);
	sockets[i] = fds[0];
	struct co *c = co_new(transfer, (void *)(intptr_t)fds[0]);
	co_resume(c);
	must(write(fds[1], "block", 5));
	co_turn(ep, -1);
	return c;
}

static NOINLINE void begin_all(struct hand_over *h)
{
	*h = (struct hand_over){.magic = 0x68616e64, .n = TRANSFERS};
	for (int i = 0; i < TRANSFERS; i++) {
		h->items[i].transfer = begin(i);
		h->items[i].offset = 5;
	}
}

// Afterwards the bytes in the queued connection are all there is.
static NOINLINE void hand_over(void)
{
	struct hand_over h;
	int fd;
	begin_all(&h);
	fd = tcp_connect(port);
	must(write(fd, &h, sizeof(h)));
	close(fd);
	memset(&h, 0, sizeof(h));
	__asm__ volatile("" : : "r"(&h) : "memory");
}

static NOINLINE void close_sockets(void)
{
	for (int i = 0; i < TRANSFERS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void take_over(void)
{
	struct hand_over h;
	int fd = (int)must(accept(listener, NULL, NULL));
	must(recv(fd, &h, sizeof(h), MSG_WAITALL) == sizeof(h) ? 0 : -1);
	close(fd);
	for (uint32_t i = 0; i < h.n; i++)
		co_resume(h.items[i].transfer);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	listener = tcp_listen(&port);
	hand_over();
	close_sockets();
	serve_until_ordered(ep);
	take_over();
	return all_resumed(TRANSFERS);
}

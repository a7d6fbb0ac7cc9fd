// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGUSR1
//
// What the server shall go on with is written into a pipe, and the pipe is sent to
// its other half in a message that carries both ends and has no bytes. Until USR1
// has it taken out of the socket's queue, no table of descriptors has the pipe.
#include <fcntl.h>
#include <sys/socket.h>

#include "ordered.h"

#define TRANSFERS 2

struct message {
	struct msghdr head;
	struct iovec none;
	char byte;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
};

static int ep, sockets[TRANSFERS], halves[2];

static void transfer(void *arg)
{
	char block[128];
	while (co_read(ep, (int)(intptr_t)arg, block, sizeof(block)) > 0)
		;
	ended++;
}

static NOINLINE struct co *begin(int i)
{
	int fds[2];
	pair(i ? "tcp" : "unix", fds);
	sockets[i] = fds[0];
	struct co *c = co_new(transfer, (void *)(intptr_t)fds[0]);
	c->pinned = true;
	co_resume(c);
	must(write(fds[1], "block", 5));
	co_turn(ep, -1);
	return c;
}

static void prepare(struct message *m)
{
	*m = (struct message){.none = {&m->byte, 0}};
	m->head = (struct msghdr){.msg_iov = &m->none,
				  .msg_iovlen = 1,
				  .msg_control = m->control,
				  .msg_controllen = sizeof(m->control)};
}

static void send_pipe(const int ends[2])
{
	struct message m;
	prepare(&m);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m.head);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(c), ends, 2 * sizeof(int));
	must(sendmsg(halves[0], &m.head, 0));
	close(ends[0]);
	close(ends[1]);
}

// Afterwards the pipe in the message is all there is.
static NOINLINE void hand_over(void)
{
	struct co *all[TRANSFERS];
	int ends[2];
	must(pipe2(ends, O_CLOEXEC));
	for (int i = 0; i < TRANSFERS; i++)
		all[i] = begin(i);
	must(write(ends[1], all, sizeof(all)));
	memset(all, 0, sizeof(all));
	__asm__ volatile("" : : "r"(all) : "memory");
	send_pipe(ends);
}

static NOINLINE void close_sockets(void)
{
	for (int i = 0; i < TRANSFERS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void take_over(void)
{
	struct message m;
	struct co *all[TRANSFERS];
	int ends[2];
	prepare(&m);
	must(recvmsg(halves[1], &m.head, 0));
	memcpy(ends, CMSG_DATA(CMSG_FIRSTHDR(&m.head)), sizeof(ends));
	must(read(ends[0], all, sizeof(all)) == sizeof(all) ? 0 : -1);
	for (int i = 0; i < TRANSFERS; i++)
		co_resume(all[i]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, halves));
	hand_over();
	close_sockets();
	serve_until_ordered(ep);
	take_over();
	return all_resumed(TRANSFERS);
}

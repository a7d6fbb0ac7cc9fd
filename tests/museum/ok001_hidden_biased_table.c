// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// Waiters are found by descriptor, without a subtraction on the way: the server's
// descriptors begin at 200, so the table is addressed as if it began 200 elements
// earlier. That address lies outside the table's own block.
#include <sys/resource.h>
#include <fcntl.h>

#include "ordered.h"

#define LOWEST 200
#define CLIENTS 4

static struct co **waiter_of; // [LOWEST] to [LOWEST + CLIENTS - 1]
static int ep, peers[CLIENTS];

static NOINLINE void make_table(void)
{
	struct co **table = must_alloc(CLIENTS * 2 * sizeof(*table));
	__asm__("" : "+r"(table)); // the compiler need not know
	waiter_of = table - LOWEST;
}

static void serve_client(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char line[80];
	ssize_t n;
	while ((n = co_read(ep, fd, line, sizeof(line))) > 0)
		must(write(fd, line, (size_t)n));
	waiter_of[fd] = NULL;
	ended++;
}

static NOINLINE int client(int i)
{
	int fds[2], fd;
	pair("tcp", fds);
	fd = (int)must(fcntl(fds[0], F_DUPFD_CLOEXEC, LOWEST));
	close(fds[0]);
	peers[i] = fds[1];
	return fd;
}

static NOINLINE void accept_client(int i)
{
	char answer[8];
	int fd = client(i);
	waiter_of[fd] = co_new(serve_client, (void *)(intptr_t)fd);
	co_resume(waiter_of[fd]);
	must(write(peers[i], "ping", 4));
	co_turn(ep, -1);
	must(read(peers[i], answer, sizeof(answer)));
}

static NOINLINE void server_reset(void)
{
	for (int fd = LOWEST; fd < LOWEST + CLIENTS; fd++)
		close(fd); // fault
}

static NOINLINE void wake(int fd)
{
	if (waiter_of[fd])
		co_resume(waiter_of[fd]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	make_table();
	for (int i = 0; i < CLIENTS; i++)
		accept_client(i);
	server_reset();
	serve_until_ordered(ep);
	for (int fd = LOWEST; fd < LOWEST + CLIENTS; fd++)
		wake(fd);
	return all_resumed(CLIENTS);
}

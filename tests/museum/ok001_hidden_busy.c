// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// As ok001_hidden_product, but the two that are well are busy: a client, a program of its own, writes to
// them 50 times a second. They may run whenever somebody looks for what leads to them.
#include <time.h>

#include "numbered.h"

enum { CLOSED = 4, OPEN = 2 };

static uint64_t kept(const struct co *c)
{
	return (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15;
}

static struct co *found(uint64_t word)
{
	return (struct co *)(uintptr_t)(word * 0xf1de83e19937733d); // the inverse
}

// Until the server has ended.
static int be_client(void)
{
	const struct timespec each = {.tv_nsec = 20000000};
	signal(SIGPIPE, SIG_DFL);
	while (write(STDIN_FILENO, "x", 1) == 1 && write(STDOUT_FILENO, "y", 1) == 1)
		nanosleep(&each, NULL);
	return 0;
}

static NOINLINE void start_client(const char *self, const int *fds)
{
	if (must(fork()))
		return;
	must(dup2(peer_of[fds[0]], STDIN_FILENO));
	must(dup2(peer_of[fds[1]], STDOUT_FILENO));
	must(close_range(3, ~0U, 0));
	must(execl(self, self, "client", (char *)NULL));
}

int main(int argc, char **argv)
{
	int fds[CLOSED], open[OPEN];
	if (argc > 1)
		return be_client();
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < CLOSED; i++)
		fds[i] = begin();
	for (int i = 0; i < OPEN; i++)
		open[i] = begin();
	start_client(argv[0], open);
	for (int i = 0; i < OPEN; i++)
		close(peer_of[open[i]]);
	for (int i = 0; i < CLOSED; i++)
		close(fds[i]); // fault
	wipe_dead_frames();
	say("ready");
	while (!ordered)
		turn();
	for (int i = 0; i < CLOSED; i++)
		resume(fds[i]);
	return all_resumed(CLOSED);
}

// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP016
// order: SIGUSR1
//
// The second set is the archive's: it is polled by hand, after each batch of the
// front end's work, and a batch can be long. In between nobody sleeps in it and
// nobody asks it; the rows in it are healthy all the same. The order makes another batch.
#include "ordered.h"

#define ARCHIVERS 3
#define FRONTS 2
#define BATCHES 4

static struct peer {
	int fd, peer, blocks;
} archive[ARCHIVERS], fronts[FRONTS];
static int front, rear;
static unsigned checksum;

static void archiver(void *arg)
{
	struct peer *p = arg;
	char block[512];
	while (co_read(rear, p->fd, block, sizeof(block)) > 0)
		p->blocks++;
	ended++;
}

static void front_end(void *arg)
{
	struct peer *p = arg;
	char request[64];
	while (co_read(front, p->fd, request, sizeof(request)) > 0)
		p->blocks++;
}

static NOINLINE void open_peer(struct peer *p, co_fn *fn, const char *kind)
{
	int fds[2];
	pair(kind, fds);
	p->fd = fds[0];
	p->peer = fds[1];
	co_start(fn, p);
}

// Work of a batch, on the loop's own time.
static NOINLINE void work(void)
{
	for (unsigned i = 0; i < 20000000; i++)
		checksum = checksum * 1664525 + 1013904223 + i;
}

static NOINLINE void batch(void)
{
	for (int i = 0; i < FRONTS; i++)
		must(write(fronts[i].peer, "order", 5));
	for (int i = 0; i < FRONTS; i++) {
		int before = fronts[i].blocks;
		co_turn(front, 0);
		must(fronts[i].blocks >= before ? 0 : -1);
	}
	work();
	for (int i = 0; i < ARCHIVERS; i++)
		must(write(archive[i].peer, "block", 5));
	co_turn(rear, 0);
}

int main(void)
{
	front = (int)must(epoll_create1(EPOLL_CLOEXEC));
	rear = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < ARCHIVERS; i++)
		open_peer(&archive[i], archiver, "pipe");
	for (int i = 0; i < FRONTS; i++)
		open_peer(&fronts[i], front_end, "unix");
	for (int i = 0; i < BATCHES; i++)
		batch();
	serve_until_ordered(front);
	batch();
	for (int i = 0; i < ARCHIVERS; i++) {
		must(archive[i].blocks == BATCHES + 1 ? 0 : -1);
		close(archive[i].peer);
	}
	while (ended < ARCHIVERS)
		co_turn(rear, 0);
	return all_resumed(ARCHIVERS);
}

// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP002 suspect
// order: SIGUSR1
//
// Uploads share an allowance. An upload that is ahead of the others is silenced by
// a mask of 0 (its row stays, so that a hangup would still be seen), and
// gets its mask back when the others have caught up, or the operator raises the
// allowance.
#include "ordered.h"

#define UPLOADS 3
#define CHUNK 64
#define AHEAD 2

static struct upload {
	int fd, peer, chunks;
	bool silenced;
	struct co *receiver;
} uploads[UPLOADS];
static int ep, allowance = AHEAD;

static int slowest(void)
{
	int least = uploads[0].chunks;
	for (int i = 1; i < UPLOADS; i++)
		if (uploads[i].chunks < least)
			least = uploads[i].chunks;
	return least;
}

static NOINLINE void set_mask(struct upload *u, uint32_t mask)
{
	struct epoll_event ev = {.events = mask, .data.ptr = u->receiver};
	must(epoll_ctl(ep, EPOLL_CTL_MOD, u->fd, &ev));
	u->silenced = mask == 0;
}

// The row is made once, level-triggered; the loop resumes whoever it belongs to.
static NOINLINE ssize_t receive(struct upload *u, char *buf)
{
	for (;;) {
		ssize_t n = read(u->fd, buf, CHUNK);
		if (!co_blocked(n))
			return n;
		co_yield();
	}
}

static void receiver(void *arg)
{
	struct upload *u = arg;
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = co_self()};
	char chunk[CHUNK];
	must(epoll_ctl(ep, EPOLL_CTL_ADD, u->fd, &ev));
	while (receive(u, chunk) == CHUNK)
		u->chunks++;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, u->fd, NULL));
	ended++;
}

static NOINLINE void balance(void)
{
	int least = slowest();
	for (int i = 0; i < UPLOADS; i++) {
		struct upload *u = &uploads[i];
		bool ahead = u->chunks - least >= allowance;
		if (ahead != u->silenced)
			set_mask(u, ahead ? 0 : EPOLLIN);
	}
}

static NOINLINE void turn(void)
{
	co_turn(ep, -1);
	balance();
}

static NOINLINE void start(struct upload *u)
{
	int fds[2];
	pair("tcp", fds);
	u->fd = fds[0];
	u->peer = fds[1];
	u->receiver = co_new(receiver, u);
	co_resume(u->receiver);
}

static NOINLINE void send_chunks(struct upload *u, int n)
{
	static const char chunk[CHUNK];
	while (n-- > 0) {
		int before = u->chunks;
		must(write(u->peer, chunk, CHUNK));
		while (!u->silenced && u->chunks == before)
			turn();
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < UPLOADS; i++)
		start(&uploads[i]);
	send_chunks(&uploads[0], AHEAD);     // silenced
	for (int i = 1; i < UPLOADS; i++)    // the others catch up
		send_chunks(&uploads[i], AHEAD);
	send_chunks(&uploads[0], AHEAD); // and again it is ahead
	serve_until_ordered(ep);
	allowance = 1000;
	balance();
	for (int i = 0; i < UPLOADS; i++)
		close(uploads[i].peer);
	while (ended < UPLOADS)
		co_turn(ep, -1);
	return all_resumed(UPLOADS);
}

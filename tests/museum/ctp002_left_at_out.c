// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// engine: both
// patched: slot slot_back struct saved
//
// A file server: rows are edge-triggered and have one mask at a time. To send
// what does not fit it changes the mask to EPOLLOUT, and back when a short write
// is over; but a transfer that ends with a full write returns without that, and
// the next command is waited for with the mask of the write.
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CHUNK (64 << 10)

struct peer {
	int fd, client;
	uint32_t mask;
	unsigned files, long_waits;
	size_t file_bytes;
};

static struct peer peers[2];
static char chunk[CHUNK];
static int ep;

static void set_mask(struct peer *p, uint32_t mask)
{
	if (p->mask == mask)
		return;
	co_watch(ep, p->fd, mask | EPOLLET, co_self());
	p->mask = mask;
}

static void send_file(struct peer *p)
{
	size_t left = p->file_bytes;
	while (left > 0) {
		size_t want = left < CHUNK ? left : CHUNK;
		ssize_t n = send(p->fd, chunk, want, MSG_NOSIGNAL);
		if (co_blocked(n)) {
			set_mask(p, EPOLLOUT);
			p->long_waits++;
			co_yield();
			continue;
		}
		left -= (size_t)n;
		if ((size_t)n < want) // the mask of a write that had to wait before
			set_mask(p, EPOLLIN);
	}
	p->files++;
}

static ssize_t next_command(struct peer *p, char *line, size_t n)
{
	ssize_t got;
	while (co_blocked(got = recv(p->fd, line, n, 0)))
		co_yield(); // fault
	return got;
}

static void serve(void *arg)
{
	struct peer *p = arg;
	char line[64];
	set_mask(p, EPOLLIN);
	while (next_command(p, line, sizeof(line)) > 0)
		send_file(p);
	close(p->fd);
}

static void on_client(struct co_handler *listener, uint32_t events)
{
	(void)events;
	close(accept(listener->fd, NULL, NULL));
}

static void drain(int fd)
{
	static char sink[CHUNK];
	while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		;
}

int main(void)
{
	static struct co_handler listener = {.fn = on_client};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	for (int i = 0; i < 2; i++) {
		int fds[2];
		pair("unix", fds);
		peers[i] = (struct peer){.fd = fds[0], .client = fds[1], .file_bytes = i ? 16u * CHUNK : 100};
		co_start(serve, &peers[i]);
	}
	for (int i = 0; i < 2; i++) {
		must(write(peers[i].client, "GET", 3));
		do
			co_turn(ep, 1);
		while (peers[i].long_waits == 0 && !peers[i].files);
		while (!peers[i].files) {
			drain(peers[i].client);
			co_turn(ep, 1);
		}
		drain(peers[i].client);
		co_turn(ep, 1); // takes the edge of the room that this made
		must(write(peers[i].client, "GET", 3));
	}
	while (peers[0].files < 2)
		co_turn(ep, -1);
	co_turn(ep, 50);
	say("ready");
	co_loop(ep);
}

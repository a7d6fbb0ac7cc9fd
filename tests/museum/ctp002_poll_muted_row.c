// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
//
// A loop around poll mutes whom it has served too often: `events` of its row is 0
// until the next report, which comes on a pipe. What is remembered is the row's
// number. When another client leaves, the last row fills the gap: the number is
// another's by then, and who was muted is never heard again, though it stands in
// the set, and a request waits there.
#include "poller.h"

enum { CLIENTS = 4, GREEDY = 3, QUOTA = 3 };

static struct poller server;
static struct client {
	int fd, peer, served;
	struct co *reader;
} clients[CLIENTS];
static int reports[2], muted = -1;

static void client_reader(void *arg)
{
	struct client *c = arg;
	char request[8];
	for (;;) {
		co_yield(); // fault
		if (read(c->fd, request, sizeof(request)) <= 0)
			break;
		c->served++;
	}
	close(c->fd);
	c->fd = -1;
}

static NOINLINE void unmute(void)
{
	char byte;
	must(read(reports[0], &byte, 1));
	if (muted >= 0 && muted < server.n)
		server.fds[muted].events = POLLIN;
	muted = -1;
}

static NOINLINE void serve(int row)
{
	struct client *c = NULL;
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].reader == server.waiters[row])
			c = &clients[i];
	if (!c) {
		unmute();
		return;
	}
	co_resume(c->reader);
	if (c->fd < 0) {
		poller_take(&server, row);
	} else if (c->served == QUOTA) {
		server.fds[row].events = 0;
		muted = row;
	}
}

static NOINLINE void turn(void)
{
	poller_wipe();
	if (poll(server.fds, (nfds_t)server.n, -1) <= 0)
		return;
	for (int i = server.n - 1; i >= 0; i--)
		if (i < server.n && server.fds[i].revents)
			serve(i);
}

static NOINLINE void request(struct client *c)
{
	int before = c->served;
	must(write(c->peer, "GET", 3));
	while (c->served == before)
		turn();
}

int main(void)
{
	pair("pipe", reports);
	poller_put(&server, reports[0], POLLIN, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		int fds[2];
		pair("tcp", fds);
		clients[i].fd = fds[0];
		clients[i].peer = fds[1];
		clients[i].reader = co_new(client_reader, &clients[i]);
		co_resume(clients[i].reader);
		poller_put(&server, clients[i].fd, POLLIN, clients[i].reader);
		request(&clients[i]);
	}
	for (int i = 1; i < QUOTA; i++)
		request(&clients[GREEDY]);
	must(write(clients[GREEDY].peer, "GET", 3));
	close(clients[0].peer); // its row is filled with the last one
	while (clients[0].fd >= 0)
		turn();
	must(write(reports[1], "", 1));
	while (muted >= 0)
		turn();
	request(&clients[1]);
	say("ready");
	for (;;)
		turn();
}

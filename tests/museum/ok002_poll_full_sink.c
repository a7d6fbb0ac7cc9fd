// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A relay in a loop around poll: what is read from a source goes to its sink. Once
// the sink's buffer is full, `events` of the source's row is 0 until the sink can
// be written to again; then the rest is sent, and the source is read again. The
// sinks' readers take nothing until the operator says so.
#include <sys/socket.h>

#include "ordered.h"
#include "poller.h"

enum { LINKS = 2 };

static struct poller loop;
static struct link {
	int source, feeder, sink, reader, row;
	size_t unsent, sent;
	struct co *co;
	char part[4096];
} links[LINKS];

// The sink has a row of its own, behind the source's, while something is left for it.
static NOINLINE void pause_source(struct link *l, bool pause)
{
	loop.fds[l->row].events = pause ? 0 : POLLIN;
	loop.fds[l->row + 1] = (struct pollfd){.fd = pause ? l->sink : -1, .events = POLLOUT};
}

static NOINLINE void send_on(struct link *l)
{
	while (l->unsent) {
		ssize_t n = write(l->sink, l->part, l->unsent);
		if (co_blocked(n))
			break;
		l->unsent -= (size_t)must(n);
		l->sent += (size_t)n;
	}
	pause_source(l, l->unsent > 0);
}

static void relay(void *arg)
{
	struct link *l = arg;
	for (;;) {
		co_yield();
		ssize_t n = read(l->source, l->part, sizeof(l->part));
		if (n <= 0)
			break;
		l->unsent = (size_t)n; // the loop sends it on
	}
	ended++;
	loop.fds[l->row].fd = -1;
}

static NOINLINE void turn(int timeout_ms)
{
	poller_wipe();
	if (poll(loop.fds, (nfds_t)loop.n, timeout_ms) <= 0)
		return;
	for (int i = 0; i < LINKS; i++) {
		struct link *l = &links[i];
		if (loop.fds[l->row + 1].fd >= 0 && loop.fds[l->row + 1].revents)
			send_on(l);
		else if (loop.fds[l->row].revents) {
			co_resume(l->co);
			if (l->unsent)
				send_on(l);
		}
	}
}

static NOINLINE void open_link(struct link *l)
{
	int source[2], sink[2];
	pair("tcp", source);
	pair("unix", sink);
	*l = (struct link){.source = source[0], .feeder = source[1], .sink = sink[0], .reader = sink[1], .row = loop.n};
	l->co = co_new(relay, l);
	co_resume(l->co);
	poller_put(&loop, l->source, POLLIN, l->co);
	poller_put(&loop, -1, 0, NULL);
}

static NOINLINE void feed(struct link *l)
{
	static const char data[4096];
	while (!l->unsent) {
		must(write(l->feeder, data, sizeof(data)));
		turn(-1);
	}
	must(write(l->feeder, data, sizeof(data)));
}

static NOINLINE void take(struct link *l)
{
	char buf[4096];
	while (read(l->reader, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	take_orders(SIGUSR1);
	for (int i = 0; i < LINKS; i++)
		open_link(&links[i]);
	for (int i = 0; i < LINKS; i++)
		feed(&links[i]);
	say("ready");
	while (!ordered)
		turn(-1);
	for (int i = 0; i < LINKS; i++)
		shutdown(links[i].feeder, SHUT_WR);
	while (ended < LINKS) {
		for (int i = 0; i < LINKS; i++)
			take(&links[i]);
		turn(10);
	}
	return all_resumed(LINKS);
}

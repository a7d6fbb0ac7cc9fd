// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A connection has a reader, which waits for its descriptor, and a writer, which
// waits for lines to send. Each leads to the other by the connection's record, and
// the line is idle both ways: all that can wake the writer is the reader.
#include "ordered.h"

#define CONNS 4
#define ROOM 8

struct conn {
	struct co *reader, *writer;
	int fd, peer;
	bool writer_waits, over;
	unsigned head, tail, sent;
	char lines[ROOM][16];
};

static struct conn *conns[CONNS];
static int ep;

static void wake_writer(struct conn *c)
{
	if (c->writer_waits) {
		c->writer_waits = false;
		co_resume(c->writer);
	}
}

static void reader(void *arg)
{
	struct conn *c = arg;
	ssize_t n;
	for (;;) {
		char *line = c->lines[c->tail % ROOM];
		n = co_read(ep, c->fd, line, 15);
		if (n <= 0)
			break;
		line[n] = 0;
		c->tail++;
		wake_writer(c);
	}
	c->over = true;
	wake_writer(c);
	ended++;
}

static void writer(void *arg)
{
	struct conn *c = arg;
	for (;;) {
		while (c->head == c->tail && !c->over) {
			c->writer_waits = true;
			co_yield();
		}
		if (c->head == c->tail)
			break;
		const char *line = c->lines[c->head++ % ROOM];
		must(co_write(ep, c->fd, line, strlen(line)));
		c->sent++;
	}
	ended++;
}

static NOINLINE struct conn *open_conn(void)
{
	struct conn *c = must_alloc(sizeof(*c));
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	c->writer = co_new(writer, c);
	c->reader = co_new(reader, c);
	co_resume(c->writer);
	co_resume(c->reader);
	return c;
}

static NOINLINE void echo(struct conn *c)
{
	char answer[16];
	unsigned before = c->sent;
	must(write(c->peer, "hello", 5));
	while (c->sent == before)
		co_turn(ep, -1);
	must(read(c->peer, answer, sizeof(answer)) == 5 ? 0 : -1);
}

static NOINLINE void all(void (*what)(struct conn *c))
{
	for (int i = 0; i < CONNS; i++)
		what(conns[i]);
}

static NOINLINE void hang_up(struct conn *c)
{
	int before = ended;
	close(c->peer);
	while (ended < before + 2)
		co_turn(ep, -1);
	close(c->fd);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < CONNS; i++)
		conns[i] = open_conn();
	all(echo);
	all(echo);
	serve_until_ordered(ep);
	all(echo);
	all(hang_up);
	return all_resumed(2 * CONNS);
}

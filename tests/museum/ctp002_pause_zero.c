// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 2 coroutines
//
// A log collector. When its queue is long the writer pauses all sources by a
// mask of nothing, and when it has written enough it wakes those that are in its
// list of paused ones. The list has room for two: the pause of the others is
// not noted, and nobody restores their masks.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SOURCES 4
#define NOTED 2
#define HIGH 7
#define LOW 2

struct source {
	struct co *reader;
	int fd, host;
	unsigned lines;
};

static struct source *sources[SOURCES], *noted[NOTED];
static int ep, nnoted, queued, written;
static bool is_paused;

static void set_row(int op, struct source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s->reader};
	must(epoll_ctl(ep, op, s->fd, &ev));
}

static void pause_sources(void)
{
	for (int i = 0; i < SOURCES; i++) {
		set_row(EPOLL_CTL_MOD, sources[i], 0); // fault
		if (nnoted < NOTED)
			noted[nnoted++] = sources[i];
	}
	is_paused = true;
}

static void resume_sources(void)
{
	while (nnoted > 0)
		set_row(EPOLL_CTL_MOD, noted[--nnoted], EPOLLIN);
	is_paused = false;
}

static void enqueue(struct source *s, const char *lines, ssize_t n)
{
	(void)lines;
	s->lines += (unsigned)n;
	queued += (int)n;
	if (queued >= HIGH && !is_paused)
		pause_sources();
}

static void read_source(void *arg)
{
	struct source *s = arg;
	char lines[4];
	ssize_t n;
	s->reader = co_self();
	set_row(EPOLL_CTL_ADD, s, EPOLLIN);
	for (;;) {
		n = read(s->fd, lines, sizeof(lines));
		if (co_blocked(n))
			co_yield();
		else if (n > 0)
			enqueue(s, lines, n);
		else
			return;
	}
}

static void write_out(void)
{
	if (queued > 0) {
		queued--;
		written++;
	}
	if (is_paused && queued <= LOW)
		resume_sources();
}

static void on_disk(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	write_out();
}

int main(void)
{
	static struct co_handler disk = {.fn = on_disk};
	int feed[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("eventfd", feed);
	disk.fd = feed[0];
	co_handle(ep, &disk, EPOLLIN);
	for (int i = 0; i < SOURCES; i++) {
		int fds[2];
		pair("tcp", fds);
		sources[i] = must_alloc(sizeof(*sources[i]));
		*sources[i] = (struct source){.fd = fds[0], .host = fds[1]};
		co_start(read_source, sources[i]);
	}
	for (int i = 0; i < SOURCES; i++)
		must(write(sources[i]->host, "ab", 2));
	while (!is_paused)
		co_turn(ep, -1);
	while (is_paused) {
		must(write(feed[1], &(uint64_t){1}, 8));
		co_turn(ep, -1);
	}
	for (int i = 0; i < SOURCES; i++)
		must(write(sources[i]->host, "cd", 2));
	while (sources[0]->lines + sources[1]->lines < 8)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP028 suspect
// expect: also CTP017
// order: stdin
//
// Two threads with a set each. The second one's thread is not in its set: it reads its
// orders from the console, as long as that takes, and goes back to its loop with each
// line. What is registered in its set is healthy, but late.
#include "ordered.h"

#define EACH 3

struct side {
	int set;
	struct {
		int fd, peer, events;
	} conns[EACH];
	int done;
};

static struct side main_side, console_side;

struct conn_of {
	struct side *side;
	int i;
};

static void reader(void *arg)
{
	struct conn_of of = *(struct conn_of *)arg;
	char buf[64];
	free(arg);
	while (co_read(of.side->set, of.side->conns[of.i].fd, buf, sizeof(buf)) > 0)
		of.side->conns[of.i].events++;
	__atomic_fetch_add(&of.side->done, 1, __ATOMIC_RELEASE);
}

static NOINLINE void open_side(struct side *s, const char *kind)
{
	s->set = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < EACH; i++) {
		struct conn_of *of = must_alloc(sizeof(*of));
		int fds[2];
		pair(kind, fds);
		s->conns[i].fd = fds[0];
		s->conns[i].peer = fds[1];
		*of = (struct conn_of){s, i};
		co_start(reader, of);
	}
}

static NOINLINE void exchange(struct side *s)
{
	for (int i = 0; i < EACH; i++) {
		int before = s->conns[i].events;
		must(write(s->conns[i].peer, "event", 5));
		while (s->conns[i].events == before)
			co_turn(s->set, -1);
	}
}

static NOINLINE void hang_up(struct side *s)
{
	for (int i = 0; i < EACH; i++)
		close(s->conns[i].peer);
}

static NOINLINE void to_the_end(struct side *s)
{
	while (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE) < EACH)
		co_turn(s->set, -1);
}

static void *console(void *arg)
{
	char line[64];
	(void)arg;
	open_side(&console_side, "unix");
	exchange(&console_side);
	say("ready");
	while (read(0, line, sizeof(line)) > 0)
		exchange(&console_side);
	hang_up(&console_side);
	to_the_end(&console_side);
	hang_up(&main_side); // its own thread serves it
	return NULL;
}

int main(void)
{
	pthread_t t;
	open_side(&main_side, "tcp");
	exchange(&main_side);
	t = co_thread(console, NULL);
	to_the_end(&main_side);
	pthread_join(t, NULL);
	ended = main_side.done + console_side.done;
	return all_resumed(2 * EACH);
}

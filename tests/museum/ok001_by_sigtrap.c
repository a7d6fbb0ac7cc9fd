// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGTRAP
//
// A server with a monitor of its own: SIGTRAP, from a debugger's hand or a
// breakpoint that was compiled in, makes it print its sessions and throw out the
// dead ones. Nothing in the process wakes by itself, and no memory is hidden:
// only the signal is missing.
#include "ordered.h"

#define SESSIONS 3

struct session {
	struct session *next;
	int fd, peer;
	bool dead;
	struct co *reader;
	unsigned long bytes;
};

static struct session *sessions;
static int ep, monitor_runs;

static void session_reader(void *arg)
{
	struct session *s = arg;
	char buf[128];
	ssize_t n;
	while ((n = co_read(ep, s->fd, buf, sizeof(buf))) > 0)
		s->bytes += (size_t)n;
	ended++;
}

static NOINLINE void session_open(void)
{
	struct session *s = must_alloc(sizeof(*s));
	int fds[2];
	pair("unix", fds);
	s->fd = fds[0];
	s->peer = fds[1];
	s->next = sessions;
	sessions = s;
	s->reader = co_new(session_reader, s);
	co_resume(s->reader);
}

// Protocol errors: a session that says '!' is cut off at once, and its reader
// stays where it is until the monitor looks after it.
static NOINLINE void cut_off_bad_ones(void)
{
	for (struct session *s = sessions; s; s = s->next)
		if (s->bytes > 2) {
			close(s->fd); // fault
			s->dead = true;
		}
}

static NOINLINE void monitor(void)
{
	monitor_runs++;
	for (struct session **at = &sessions; *at;) {
		struct session *s = *at;
		if (!s->dead) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		co_resume(s->reader); // sees EBADF
		close(s->peer);
		free(s);
	}
}

static NOINLINE void clients_speak(void)
{
	for (struct session *s = sessions; s; s = s->next)
		must(write(s->peer, "!!!", 3));
	for (int i = 0; i < SESSIONS; i++)
		co_turn(ep, 0);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGTRAP);
	for (int i = 0; i < SESSIONS; i++)
		session_open();
	clients_speak();
	cut_off_bad_ones();
	serve_until_ordered(ep);
	monitor();
	return all_resumed(SESSIONS);
}

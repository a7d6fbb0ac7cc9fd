// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 2 coroutines
// needs: libevent-dev
//
// Sessions on libevent. Their events are not persistent: each fires once, and libevent
// takes the descriptor out of the set before it calls back. A session notes that its
// event is pending and does not add it twice; the note is cleared only where the
// event ran into its time limit. The second request of a session stays unread.
#include <event2/event.h>
#include <event2/util.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 4
#define BUSY 2 // of these come two requests

static struct session {
	struct event *event;
	struct co *co;
	int fd, peer, served;
	bool pending;
} sessions[SESSIONS];
static struct event_base *base;

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;
	(void)fd;
	if (what & EV_TIMEOUT)
		s->pending = false;
	co_resume(s->co);
}

static ssize_t receive(struct session *s, char *buf, size_t n)
{
	ssize_t got;
	while (co_blocked(got = read(s->fd, buf, n))) {
		if (!s->pending)
			must(event_add(s->event, NULL));
		s->pending = true;
		co_yield(); // fault
	}
	return got;
}

static void serve(void *arg)
{
	struct session *s = arg;
	char buf[64];
	while (receive(s, buf, sizeof(buf)) > 0)
		s->served++;
}

static NOINLINE void begin(struct session *s)
{
	int fds[2];
	pair("tcp", fds);
	*s = (struct session){.fd = fds[0], .peer = fds[1]};
	s->event = event_new(base, s->fd, EV_READ, on_event, s);
	s->co = co_new(serve, s);
	co_resume(s->co);
}

static NOINLINE void request(struct session *s)
{
	int before = s->served;
	must(write(s->peer, "GET /", 5));
	while (s->served == before)
		must(event_base_loop(base, EVLOOP_ONCE));
}

int main(void)
{
	base = event_base_new();
	for (int i = 0; i < SESSIONS; i++)
		begin(&sessions[i]);
	for (int i = 0; i < BUSY; i++)
		request(&sessions[i]);
	for (int i = 0; i < BUSY; i++)
		must(write(sessions[i].peer, "GET /", 5));
	say("ready");
	event_base_dispatch(base);
}

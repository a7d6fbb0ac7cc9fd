// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// A proxy, one coroutine a connection: the client's row is persistent and
// level-triggered, the backend's is armed for each answer. Some wait for their client
// now, some for their backend; one backend was closed by its own coroutine, which
// had had its answer, while the client's row stayed.
#include "ordered.h"

#define SESSIONS 5
#define AT_BACKEND 2

static struct session {
	int client, client_peer, backend, backend_peer, answered;
	struct co *co;
} sessions[SESSIONS];
static int ep;

static NOINLINE ssize_t client_read(struct session *s, char *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(s->client, buf, n)))
		co_yield(); // its row is there all the time
	return r;
}

static void connect_backend(struct session *s)
{
	int fds[2];
	pair("tcp", fds);
	s->backend = fds[0];
	s->backend_peer = fds[1];
}

static void close_backend(struct session *s)
{
	close(s->backend);
	close(s->backend_peer);
	s->backend = -1;
}

static void serve(void *arg)
{
	struct session *s = arg;
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = co_self()};
	char buf[128];
	ssize_t n;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, s->client, &ev));
	while ((n = client_read(s, buf, sizeof(buf))) > 0) {
		if (s->backend < 0)
			connect_backend(s);
		must(write(s->backend, buf, (size_t)n));
		n = co_read(ep, s->backend, buf, sizeof(buf));
		must(write(s->client, buf, (size_t)n));
		s->answered++;
		if (buf[0] == 'c') // Connection: close
			close_backend(s);
	}
	close(s->client);
	ended++;
}

static NOINLINE void open_session(struct session *s)
{
	int fds[2];
	pair("tcp", fds);
	*s = (struct session){.client = fds[0], .client_peer = fds[1], .backend = -1};
	s->co = co_new(serve, s);
	co_resume(s->co);
}

static NOINLINE void request(struct session *s)
{
	must(write(s->client_peer, "get", 3));
	co_turn(ep, -1);
	must(s->backend < 0 ? -1 : 0);
}

static NOINLINE void answer(struct session *s, const char *text)
{
	char buf[128];
	int before = s->answered;
	must(read(s->backend_peer, buf, sizeof(buf)));
	must(write(s->backend_peer, text, strlen(text)));
	while (s->answered == before)
		co_turn(ep, -1);
	must(read(s->client_peer, buf, sizeof(buf)));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++) {
		open_session(&sessions[i]);
		request(&sessions[i]);
		answer(&sessions[i], i % 2 ? "close" : "keep");
	}
	for (int i = 0; i < AT_BACKEND; i++)
		request(&sessions[i]);
	serve_until_ordered(ep);
	for (int i = 0; i < AT_BACKEND; i++)
		answer(&sessions[i], "close");
	for (int i = 0; i < SESSIONS; i++)
		close(sessions[i].client_peer);
	while (ended < SESSIONS)
		co_turn(ep, -1);
	return all_resumed(SESSIONS);
}

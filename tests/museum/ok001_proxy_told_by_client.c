// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGUSR1
//
// A proxy whose sweep closes backends that take too long. The coroutine waits for its
// backend; its client's row is persistent, and whatever the client says next, or
// its leaving, resumes the coroutine, which then finds its backend closed and
// answers 504. Clients are patient here, up to the order.
#include "ordered.h"

#define SESSIONS 4
#define SLOW 2

static struct session {
	int client, client_peer, backend, backend_peer, answered;
	bool asks, backend_closed;
} sessions[SESSIONS];
static int ep, timeouts;

static NOINLINE ssize_t client_read(struct session *s, char *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(s->client, buf, n)))
		co_yield();
	return r;
}

static void reply(struct session *s, const char *text)
{
	must(write(s->client, text, strlen(text)));
	s->answered++;
}

static void ask_backend(struct session *s, const char *question, size_t n)
{
	char answer[64];
	s->asks = true;
	must(write(s->backend, question, n));
	ssize_t r = co_read(ep, s->backend, answer, sizeof(answer));
	s->asks = false;
	if (r > 0) {
		reply(s, "200");
	} else {
		timeouts++;
		reply(s, "504");
	}
}

static void serve(void *arg)
{
	struct session *s = arg;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = co_self()};
	char request[64];
	ssize_t n;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, s->client, &ev));
	while ((n = client_read(s, request, sizeof(request))) > 0 && !s->backend_closed)
		ask_backend(s, request, (size_t)n);
	if (s->backend_closed)
		ended++;
}

static NOINLINE void open_session(struct session *s)
{
	int client[2], backend[2];
	pair("tcp", client);
	pair("tcp", backend);
	*s = (struct session){client[0], client[1], backend[0], backend[1], 0, false, false};
	co_start(serve, s);
}

static NOINLINE void request(struct session *s)
{
	must(write(s->client_peer, "get", 3));
	while (!s->asks)
		co_turn(ep, -1);
}

static NOINLINE void backend_answers(struct session *s)
{
	char buf[64];
	int before = s->answered;
	must(read(s->backend_peer, buf, sizeof(buf)));
	must(write(s->backend_peer, "row", 3));
	while (s->answered == before)
		co_turn(ep, -1);
	must(read(s->client_peer, buf, sizeof(buf)));
}

static NOINLINE void sweep_backends(void)
{
	for (int i = 0; i < SESSIONS; i++)
		if (sessions[i].asks) {
			close(sessions[i].backend); // fault
			sessions[i].backend_closed = true;
		}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++) {
		open_session(&sessions[i]);
		request(&sessions[i]);
		backend_answers(&sessions[i]);
	}
	for (int i = 0; i < SLOW; i++)
		request(&sessions[i]);
	sweep_backends();
	serve_until_ordered(ep);
	for (int i = 0; i < SLOW; i++)
		must(write(sessions[i].client_peer, "still there?", 12));
	while (ended < SLOW)
		co_turn(ep, -1);
	must(timeouts == SLOW ? 0 : -1);
	return all_resumed(SLOW);
}

// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// needs: libevent-dev
//
// A gateway on libevent. A request's coroutine has a persistent event for its
// client, which hears when the client leaves, and a second one for the backend
// while it waits for an answer. Idle backends are closed by a timer that does
// not see that two of them are busy: the descriptor goes, the event stays
// pending in libevent and will never fire.
#include <event2/event.h>
#include <event2/util.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define REQUESTS 3

struct request {
	struct co *co;
	struct event *client_event, *backend_event;
	int client, browser, backend, server, status;
	int age; // in ticks
	bool client_left;
};

static struct event_base *base;
static struct request requests[REQUESTS];
static int sweeps;

static void on_client(evutil_socket_t fd, short what, void *arg)
{
	struct request *r = arg;
	char byte;
	(void)what;
	r->client_left = recv(fd, &byte, 1, MSG_PEEK) == 0;
	co_resume(r->co);
}

static void on_backend(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	co_resume(((struct request *)arg)->co);
}

static ssize_t await_answer(struct request *r, char *buf, size_t n)
{
	ssize_t got = -1;
	while (!r->client_left && co_blocked(got = recv(r->backend, buf, n, 0))) {
		event_add(r->backend_event, NULL);
		co_yield();
	}
	return got;
}

static void serve(void *arg)
{
	struct request *r = arg;
	char buf[128];
	ssize_t n;
	event_add(r->client_event, NULL);
	while (co_blocked(n = recv(r->client, buf, sizeof(buf), 0)))
		co_yield();
	must(send(r->backend, buf, (size_t)n, 0));
	n = await_answer(r, buf, sizeof(buf));
	r->status = n > 0 ? 200 : 502;
	must(send(r->client, n > 0 ? "200" : "502", 3, 0));
	event_del(r->client_event);
}

static void sweep(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what, (void)arg;
	for (int i = 0; i < REQUESTS; i++)
		if (!requests[i].status && ++requests[i].age == 3)
			evutil_closesocket(requests[i].backend); // fault
	if (++sweeps == 5)
		say("ready");
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	(void)what, (void)arg;
	close(accept(fd, NULL, NULL));
}

static NOINLINE void begin(struct request *r)
{
	int client[2], backend[2];
	pair("tcp", client);
	pair("tcp", backend);
	*r = (struct request){.client = client[0], .browser = client[1], .backend = backend[0], .server = backend[1]};
	r->client_event = event_new(base, r->client, EV_READ | EV_PERSIST, on_client, r);
	r->backend_event = event_new(base, r->backend, EV_READ, on_backend, r);
	r->co = co_new(serve, r);
	co_resume(r->co);
	must(write(r->browser, "GET /", 5));
}

int main(void)
{
	struct timeval often = {.tv_usec = 15000};
	int port;
	base = event_base_new();
	event_add(event_new(base, tcp_listen(&port), EV_READ | EV_PERSIST, on_accept, NULL), NULL);
	event_add(event_new(base, -1, EV_PERSIST, sweep, NULL), &often);
	for (int i = 0; i < REQUESTS; i++)
		begin(&requests[i]);
	must(write(requests[0].server, "hello", 5));
	event_base_dispatch(base);
}

// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
// needs: libuv1-dev
//
// A name server's forwarder on libuv. Queries run as coroutines, each with a
// poll handle of its own on its upstream's socket; libuv registers them when
// the loop next polls. A list of upstreams is reloaded, and sockets of those no
// longer in it are closed under the poll handles that still watch them.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "co.h"
#include "must.h"

#define UPSTREAMS 3

struct upstream {
	char name[16];
	int fd, server;
	bool listed;
};

struct query {
	struct co *co;
	uv_poll_t poll;
	struct upstream *upstream;
	int answered;
};

static uv_loop_t *loop;
static struct upstream upstreams[UPSTREAMS] = {{.name = "10.0.0.1"}, {.name = "10.0.0.2"}, {.name = "10.0.0.3"}};
static struct query *queries[UPSTREAMS];
static uv_timer_t reload, idle;
static uv_poll_t clients;

static void on_answer(uv_poll_t *poll, int status, int events)
{
	(void)status, (void)events;
	co_resume(((struct query *)poll->data)->co);
}

static int receive(struct query *q, char *buf, size_t n)
{
	ssize_t got;
	uv_poll_init(loop, &q->poll, q->upstream->fd);
	q->poll.data = q;
	while (co_blocked(got = recv(q->upstream->fd, buf, n, 0))) {
		uv_poll_start(&q->poll, UV_READABLE, on_answer);
		co_yield();
	}
	uv_poll_stop(&q->poll);
	return (int)got;
}

static void forward(void *arg)
{
	struct query *q = arg;
	char packet[512] = "A? example.org";
	must(send(q->upstream->fd, packet, strlen(packet), 0));
	if (receive(q, packet, sizeof(packet)) > 0)
		q->answered++;
}

static void drop(struct upstream *u)
{
	close(u->fd); // fault
	u->fd = -1;
}

static void on_reload(uv_timer_t *timer)
{
	static const char *const conf[] = {"10.0.0.1", "10.0.0.3"};
	(void)timer;
	for (int i = 0; i < UPSTREAMS; i++) {
		upstreams[i].listed = false;
		for (int j = 0; j < 2; j++)
			if (!strcmp(conf[j], upstreams[i].name))
				upstreams[i].listed = true;
		if (!upstreams[i].listed && upstreams[i].fd >= 0)
			drop(&upstreams[i]);
	}
	for (int i = 0; i < UPSTREAMS; i++)
		if (upstreams[i].listed)
			must(write(upstreams[i].server, "192.0.2.1", 9));
}

static void on_client(uv_poll_t *poll, int status, int events)
{
	(void)poll, (void)status, (void)events;
	say("a client");
}

static void on_idle(uv_timer_t *timer)
{
	(void)timer;
	say("ready");
}

// Before the loop first polls, and so before libuv registers what is polled; the others only afterwards.
static void on_begin(uv_timer_t *timer)
{
	(void)timer;
	uv_timer_start(&reload, on_reload, 20, 0);
	uv_timer_start(&idle, on_idle, 60, 0);
}

static NOINLINE void begin(int i)
{
	int fds[2];
	pair("udp", fds);
	upstreams[i].fd = fds[0];
	upstreams[i].server = fds[1];
	queries[i] = must_alloc(sizeof(*queries[i]));
	queries[i]->upstream = &upstreams[i];
	queries[i]->co = co_new(forward, queries[i]);
	co_resume(queries[i]->co);
}

int main(void)
{
	uv_timer_t first;
	int port;
	loop = uv_default_loop();
	uv_poll_init(loop, &clients, tcp_listen(&port));
	uv_poll_start(&clients, UV_READABLE, on_client);
	for (int i = 0; i < UPSTREAMS; i++)
		begin(i);
	uv_timer_init(loop, &reload);
	uv_timer_init(loop, &idle);
	uv_timer_init(loop, &first);
	uv_timer_start(&first, on_begin, 0, 0);
	return uv_run(loop, UV_RUN_DEFAULT);
}

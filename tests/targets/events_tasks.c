// SPDX-License-Identifier: MIT
//
// events_tasks.c - a server of 32 connections that tells of its tasks (ctp_task_begin, ctp/event.h), each of them a
// coroutine. A request waits for a backend, then computes; every fourth is handed on to another coroutine, which
// ends it. Prints for each type how many there were and how long they took in all, by its own clock.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <ctp/event.h>

#include "co.h"
#include "must.h"

enum { CONNECTIONS = 32, REQUESTS = 4 };

static int ep, left = CONNECTIONS;
static struct {
	int client[2], backend[2], handed[2];
	ctp_task task; // that is handed on
	uint64_t since;
} conns[CONNECTIONS];
static struct {
	uint64_t n, ns;
} sums[2];

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void compute(void)
{
	static volatile uint64_t sink;
	ctp_region_begin("compute");
	for (int i = 0; i < 100000; i++)
		sink += (uint64_t)i;
	ctp_region_end();
}

static NOINLINE void ask_backend(int n)
{
	char c = 0;
	must(write(conns[n].backend[0], &c, 1));
	must(co_read(ep, conns[n].backend[0], &c, 1));
}

static void ends(ctp_task t, int type, uint64_t since)
{
	ctp_task_end(t);
	sums[type].n++;
	sums[type].ns += now_ns() - since;
}

static void serve(void *arg)
{
	int n = (int)(long)arg;
	char c;
	for (int i = 0; i < REQUESTS; i++) {
		must(co_read(ep, conns[n].client[0], &c, 1));
		int type = i % 4 == 3;
		uint64_t since = now_ns();
		ctp_task t = ctp_task_begin(type ? "handed" : "request");
		ask_backend(n);
		compute();
		if (!type) {
			ends(t, type, since);
			continue;
		}
		conns[n].task = t;
		conns[n].since = since;
		must(write(conns[n].handed[1], "", 1));
	}
	left--;
}

static void finish(void *arg)
{
	int n = (int)(long)arg;
	char c;
	for (int i = 0; i < REQUESTS / 4; i++) {
		must(co_read(ep, conns[n].handed[0], &c, 1));
		ctp_task_enter(conns[n].task);
		compute();
		ends(conns[n].task, 1, conns[n].since);
	}
	left--;
}

// Clients, with a byte for each request; and backends, which answer each byte with one.
static void *others(void *arg)
{
	struct pollfd fds[CONNECTIONS];
	char c;
	(void)arg;
	for (int n = 0; n < CONNECTIONS; n++) {
		fds[n] = (struct pollfd){conns[n].backend[1], POLLIN, 0};
		for (int i = 0; i < REQUESTS; i++)
			must(write(conns[n].client[1], "", 1));
	}
	for (int n = 0; n < CONNECTIONS; n++) // all wait once
		must(poll(&fds[n], 1, -1));
	for (int answers = 0; answers < CONNECTIONS * REQUESTS;) {
		must(poll(fds, CONNECTIONS, -1));
		for (int n = 0; n < CONNECTIONS; n++) {
			if (!(fds[n].revents & POLLIN))
				continue;
			must(read(fds[n].fd, &c, 1));
			must(write(fds[n].fd, &c, 1));
			answers++;
		}
	}
	return NULL;
}

int main(void)
{
	co_choose("ucontext");
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int n = 0; n < CONNECTIONS; n++) {
		pair("unix", conns[n].client);
		pair("unix", conns[n].backend);
		pair("unix", conns[n].handed);
	}
	left *= 2;
	for (long n = 0; n < CONNECTIONS; n++) {
		co_start(serve, (void *)n);
		co_start(finish, (void *)n);
	}
	pthread_t t;
	must(pthread_create(&t, NULL, others, NULL) ? -1 : 0);
	while (left)
		co_turn(ep, -1);
	pthread_join(t, NULL);
	printf("request %lu %lu\nhanded %lu %lu\n", sums[0].n, sums[0].ns, sums[1].n, sums[1].ns);
	return 0;
}

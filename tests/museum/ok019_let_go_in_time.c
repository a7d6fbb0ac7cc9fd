// SPDX-License-Identifier: MIT
// expect: clean
//
// A session keeps a mutex of its own locked while it is at work, also across
// its waits (an assertion relies on it), and lets it go: nobody else wants it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 8

static int ep, left = SESSIONS;
static struct session {
	pthread_mutex_t busy;
	int conn[2];
} sessions[SESSIONS];

static void serve(void *arg)
{
	struct session *s = arg;
	char byte;
	pthread_mutex_lock(&s->busy);
	co_read(ep, s->conn[0], &byte, 1);
	co_read(ep, s->conn[0], &byte, 1);
	pthread_mutex_unlock(&s->busy);
	if (--left == 0)
		say("ready");
	co_read(ep, s->conn[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SESSIONS; i++) {
		pthread_mutex_init(&sessions[i].busy, NULL);
		pair("pipe", sessions[i].conn);
		co_start(serve, &sessions[i]);
	}
	for (int i = 0; i < SESSIONS; i++)
		must(write(sessions[i].conn[1], "ab", 2));
	co_loop(ep);
}

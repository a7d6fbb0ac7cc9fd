// SPDX-License-Identifier: MIT
// expect: clean
//
// Long polls: a client asks, its request is read to the end and held until its time has
// come, and a thread that ticks walks the table of those that are held, by index, and
// resumes whoever is due. All wait in one place, and whoever is held has not armed its
// one-shot registration again: it does so when it has answered. By now all have answered.
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CLIENTS 6
#define TICK_NS 100000000
#define HELD_TICKS 30

static struct poll {
	struct co *co;
	int fd, peer;
	unsigned due; // tick; 0: not held
} polls[CLIENTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned tick, answered;
static int ep;

static void hold(struct poll *p)
{
	pthread_mutex_lock(&lock);
	p->due = tick + HELD_TICKS;
	pthread_mutex_unlock(&lock);
}

static void answer(struct poll *p)
{
	must(write(p->fd, "nothing new", 11));
	answered++;
}

static void serve(void *arg)
{
	struct poll *p = arg;
	char request[32];
	for (bool held = false;;) {
		if (held)
			answer(p);
		bool asks = false;
		while (!held && read(p->fd, request, sizeof(request)) > 0)
			asks = true;
		held = asks;
		if (held)
			hold(p);
		else
			co_watch(ep, p->fd, EPOLLIN | EPOLLONESHOT, p->co);
		co_yield(); // for a request, or for its time
	}
}

static bool is_due(struct poll *p)
{
	pthread_mutex_lock(&lock);
	bool due = p->due && p->due <= tick;
	if (due)
		p->due = 0;
	pthread_mutex_unlock(&lock);
	return due;
}

static NOINLINE void sweep(void)
{
	for (int i = 0; i < CLIENTS; i++)
		if (is_due(&polls[i]))
			co_resume(polls[i].co);
}

static void *sweeper(void *arg)
{
	struct timespec each = {.tv_nsec = TICK_NS};
	(void)arg;
	for (bool said = false;;) {
		nanosleep(&each, NULL);
		pthread_mutex_lock(&lock);
		tick++;
		pthread_mutex_unlock(&lock);
		sweep();
		if (answered == CLIENTS && !said) {
			said = true;
			say("ready");
		}
	}
	return NULL;
}

static NOINLINE void connect_client(struct poll *p)
{
	int fds[2];
	pair("tcp", fds);
	p->fd = fds[0];
	p->peer = fds[1];
	p->co = co_new(serve, p);
	co_resume(p->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CLIENTS; i++)
		connect_client(&polls[i]);
	for (int i = 0; i < CLIENTS; i++)
		must(write(polls[i].peer, "GET /news", 9));
	co_thread(sweeper, NULL);
	co_loop(ep);
}

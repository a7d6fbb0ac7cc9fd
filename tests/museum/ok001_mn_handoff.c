// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Three workers share one set. A reaper thread closes idle connections and
// hands their readers to the workers by a queue and an eventfd: some turns
// later one of them resumes each, and it ends. One connection stays.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 5
#define REAPED 4

static struct conn {
	int fd;
	struct co *co;
} conns[CONNS];
static struct co *queue[CONNS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ep, queued, wake, ended[2];

static void conn_reader(void *arg)
{
	struct conn *conn = arg;
	char buf[64];
	while (co_read(ep, conn->fd, buf, sizeof(buf)) > 0)
		;
	must(write(ended[1], "", 1));
}

static NOINLINE struct co *take(void)
{
	pthread_mutex_lock(&lock);
	struct co *c = queued > 0 ? queue[--queued] : NULL;
	pthread_mutex_unlock(&lock);
	return c;
}

static void on_queued(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	co_blocked(read(h->fd, &n, sizeof(n))); // another worker may have been faster
	for (struct co *c = take(); c; c = take())
		co_resume(c);
}

static void hand_over(struct co *c)
{
	uint64_t one = 1;
	pthread_mutex_lock(&lock);
	queue[queued++] = c;
	pthread_mutex_unlock(&lock);
	must(write(wake, &one, sizeof(one)));
}

static void *reaper(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i < REAPED; i++) {
		close(conns[i].fd);
		hand_over(conns[i].co);
	}
	for (int i = 0; i < REAPED; i++)
		must(read(ended[0], &byte, 1));
	say("ready");
	return NULL;
}

int main(void)
{
	static struct co_handler h = {.fn = on_queued};
	pthread_t worker = 0;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(ended));
	for (int i = 0; i < CONNS; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i].fd = fds[0];
		conns[i].co = co_new(conn_reader, &conns[i]);
		co_resume(conns[i].co);
	}
	h.fd = wake = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(ep, &h, EPOLLIN);
	for (int i = 0; i < 3; i++)
		worker = co_loop_thread(&ep);
	co_thread(reaper, NULL);
	pthread_join(worker, NULL);
}

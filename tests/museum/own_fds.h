// SPDX-License-Identifier: MIT
//
// own_fds.h - a server's thread parts from the descriptors of the others, and makes its set and its
// connection in a table of its own. Its reader waits there, and all is well. The main thread opens and closes
// files of its own, which have the same numbers in the other table.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static sem_t serves;
static int ep, sock;

static void part(void); // the exhibit's

static void own_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
}

static void *serve(void *arg)
{
	int fds[2];
	(void)arg;
	part();
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	sock = fds[0];
	co_start(own_reader, (void *)(intptr_t)fds[0]);
	must(sem_post(&serves));
	co_loop(ep);
}

// Up to the number of the reader's connection.
static NOINLINE void open_own(void)
{
	int fds[64], n = 0;
	do
		fds[n] = (int)must(open("/dev/null", O_RDONLY | O_CLOEXEC));
	while (fds[n++] < sock && n < 64);
	while (n-- > 0)
		close(fds[n]);
}

int main(void)
{
	pthread_t t;
	must(sem_init(&serves, 0, 0));
	t = co_thread(serve, NULL);
	must(sem_wait(&serves));
	open_own();
	say("ready");
	pthread_join(t, NULL);
}

// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 3 coroutines
//
// main starts the server's thread and ends (pthread_exit): of the process's first thread there is only its
// number. A reset closes the connections of three readers, and nobody knows the readers. (One may
// be LIKELY: its stack lies where the library ends that the end of main has loaded, and the loader notes that.)
#include <pthread.h>

#include "lost.h"

#define READERS 3

static pthread_t first;

static NOINLINE void reset(void)
{
	int fds[READERS];
	for (int i = 0; i < READERS; i++)
		fds[i] = open_reader("unix");
	for (int i = 0; i < READERS; i++)
		close(fds[i]); // fault
}

static void *serve(void *arg)
{
	(void)arg;
	pthread_join(first, NULL);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	reset();
	serve_on();
}

int main(void)
{
	first = pthread_self();
	co_thread(serve, NULL);
	pthread_exit(NULL);
}

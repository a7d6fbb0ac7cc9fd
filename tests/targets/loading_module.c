// SPDX-License-Identifier: MIT
//
// loading_module.c - an object that the loader relocates slowly: many of its words hold addresses of functions that
// libctp.so hooks, then the loader asks for the last one's address, which takes a while, and closes them all to writing.
// For loading.c.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FOUR(fn) (void *)close, (void *)read, (void *)write, (void *)fn
#define MORE FOUR(poll), FOUR(open), FOUR(socket), FOUR(accept), FOUR(recv), FOUR(send), FOUR(epoll_wait), FOUR(dup)

void loading_last(void);

static void last(void)
{
}

static void (*slow(void))(void)
{
	nanosleep(&(struct timespec){0, 500000}, NULL);
	return last;
}

void loading_last(void) __attribute__((ifunc("slow")));

void *const loading_words[] = {MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, (void *)loading_last};

// SPDX-License-Identifier: MIT
// expect: CTP017 likely, 2 coroutines
//
// Each uploader backs off with usleep after a failed try: for threads that is
// right, here the whole loop sleeps, twice.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define UPLOADERS 2

static int ep, tries[UPLOADERS][2], done;

static NOINLINE void back_off(void)
{
	usleep(300000); // fault
}

static void uploader(void *arg)
{
	int fd = *(int *)arg;
	char byte;
	co_read(ep, fd, &byte, 1);
	back_off();
	if (++done == UPLOADERS)
		say("ready");
	co_read(ep, fd, &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < UPLOADERS; i++) {
		pair("pipe", tries[i]);
		co_start(uploader, &tries[i][0]);
	}
	for (int i = 0; i < UPLOADERS; i++)
		must(write(tries[i][1], "t", 1));
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: clean
//
// Two actors wait for each other's mail, but a console thread has posted to one
// of them before and may do so again; now it waits for its own next command.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, mail[2][2], console[2];

static void actor(void *arg)
{
	int i = (int)(intptr_t)arg;
	char message;
	for (;;) {
		must(co_read(ep, mail[i][0], &message, 1));
		if (message == 'x')
			say("ready");
		else
			must(write(mail[!i][1], i ? "x" : "m", 1));
	}
}

static void *console_thread(void *arg)
{
	char command;
	(void)arg;
	must(write(mail[0][1], "c", 1));
	must(read(console[0], &command, 1));
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(console));
	for (int i = 0; i < 2; i++) {
		pair("pipe", mail[i]);
		co_start(actor, (void *)(intptr_t)i);
	}
	co_thread(console_thread, NULL);
	co_loop(ep);
}

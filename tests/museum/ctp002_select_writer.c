// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
//
// A file server around select. A send that says EAGAIN waits for the socket in the
// set of those to be read. Its client has read all that came, and waits for the rest;
// another client's requests go on.
#include "sets.h"

static char file[1 << 20];
static int blocked, served;
static int download[2], chat[2];

static void push_file(void *arg)
{
	int fd = *(int *)arg;
	for (size_t sent = 0; sent < sizeof(file);) {
		ssize_t n = send(fd, file + sent, sizeof(file) - sent, MSG_NOSIGNAL);
		if (co_blocked(n)) {
			blocked = 1;
			sets_wait(0, fd); // fault
		} else if (n > 0) {
			sent += (size_t)n;
		} else {
			return;
		}
	}
}

static void answer(void *arg)
{
	int fd = *(int *)arg;
	char request[16];
	for (;; served++)
		while (co_blocked(read(fd, request, sizeof(request))))
			sets_wait(0, fd);
}

int main(void)
{
	static char sink[64 << 10];
	pair("unix", download);
	pair("unix", chat);
	co_start(answer, &chat[0]);
	co_start(push_file, &download[0]);
	must(blocked ? 0 : -1);
	while (read(download[1], sink, sizeof(sink)) > 0)
		;
	while (served < 3) {
		must(write(chat[1], "more", 4));
		sets_turn();
	}
	say("ready");
	for (;;)
		sets_turn();
}

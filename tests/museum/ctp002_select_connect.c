// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
//
// A connect that is under way waits in the set of those to be read. That is well with servers that greet
// first; this one waits for the request. Another client's requests go on.
#include <arpa/inet.h>

#include "sets.h"

static int served;
static int chat[2];

static void answer(void *arg)
{
	int fd = *(int *)arg;
	char request[16];
	for (;; served++)
		while (co_blocked(read(fd, request, sizeof(request))))
			sets_wait(0, fd);
}

static void call_hook(void *arg)
{
	int fd = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	if (connect(fd, arg, sizeof(struct sockaddr_in)))
		sets_wait(0, fd); // fault
	must(write(fd, "POST", 4));
}

int main(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(to);
	int server = (int)must(socket(AF_INET, SOCK_STREAM, 0));
	must(bind(server, (struct sockaddr *)&to, sizeof(to)));
	must(listen(server, 5));
	must(getsockname(server, (struct sockaddr *)&to, &length));
	pair("unix", chat);
	co_start(answer, &chat[0]);
	co_start(call_hook, &to);
	while (served < 3) {
		must(write(chat[1], "more", 4));
		sets_turn();
	}
	say("ready");
	for (;;)
		sets_turn();
}

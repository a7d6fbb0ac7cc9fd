// SPDX-License-Identifier: MIT
// expect: CTP001 none..inconclusive, 1 coroutine
// expect: also CTP026
// end: exit
//
// A helper of the server has its epoll set, too. The server ends: it closes what its last session waits for,
// and exits at once. Nothing had its chance before the end, whoever has the set.
#include <stdlib.h>

#include "helper.h"

static int session[2];

static void serve(void *arg)
{
	char buf[64];
	while (co_read(ep, session[0], buf, sizeof(buf)) > 0)
		;
}

int main(int argc, char **argv)
{
	if (is_helper(argc, argv))
		help();
	make_set_and_helper(argv[0]);
	pair("tcp", session);
	co_start(serve, NULL);
	must(write(session[1], "bye", 3));
	co_turn(ep, -1);
	close(session[0]);
	exit(0);
}

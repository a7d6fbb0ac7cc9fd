// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A loop that makes its set anew before every poll, from a list of who waits.
// Descriptors are closed under their readers, in the set and out of it; poll
// says POLLNVAL, and that resumes the reader, who sees EBADF and ends.
#include "poller.h"

static struct poller list;
static int feeds[4][2], ended;

static void feed_reader(void *arg)
{
	char item[64];
	while (poller_read(&list, *(int *)arg, item, sizeof(item)) > 0)
		;
	ended++;
}

static NOINLINE void turn(void)
{
	struct poller now = list;
	if (poll(now.fds, (nfds_t)now.n, -1) < 0)
		return;
	memcpy(list.fds, now.fds, sizeof(list.fds));
	memset(&now, 0, sizeof(now));
	poller_dispatch(&list, NULL);
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		pair("unix", feeds[i]);
		co_start(feed_reader, &feeds[i][0]);
	}
	for (int i = 0; i < 4; i++) {
		must(write(feeds[3][1], "tick", 4));
		turn();
		close(feeds[i][0]);
		turn();
	}
	while (ended < 4)
		turn();
	say("ready");
	return 0;
}

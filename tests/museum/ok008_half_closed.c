// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// Clients send a job, and end what they send: all of it has come. The server has
// read until EAGAIN, and takes the connection out of its set while the job is under
// way at a worker behind a pipe, which is slow. The end stays unread meanwhile.
#include "sets.h"

static int client[2], worker[2], jobs;

static void job(void *arg)
{
	int fd = *(int *)arg;
	char text[64];
	ssize_t n;
	while ((n = read(fd, text, sizeof(text))) > 0 || !jobs) {
		if (n > 0)
			jobs++;
		else
			sets_wait(0, fd);
	}
	sets_wait(0, worker[0]);
	must(write(fd, "done", 4));
	close(fd);
}

int main(void)
{
	pair("tcp", client);
	pair("pipe", worker);
	co_start(job, &client[0]);
	must(write(client[1], "job", 3));
	while (!jobs)
		sets_turn();
	must(shutdown(client[1], SHUT_WR));
	say("ready");
	for (;;)
		sets_turn();
}

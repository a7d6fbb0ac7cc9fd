// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A gateway asks its backends, in a loop around poll, without a time limit for the
// answers. Five of them answer at once, again and again; one takes the question, and
// nothing is heard of it any more. Nothing is wrong with the gateway's wait, but the
// report tells which it is.
#include <stdbool.h>
#include <sys/socket.h>

#include "poller.h"

enum { BACKENDS = 6, MUTE = 3, PAUSE_MS = 20 };

static struct poller waits;
static struct backend {
	int fd, peer, answers;
} backends[BACKENDS];

static void ask(void *arg)
{
	struct backend *b = arg;
	char answer[16];
	for (;;) {
		must(write(b->fd, "GET /", 5));
		if (poller_read(&waits, b->fd, answer, sizeof(answer)) <= 0) // fault
			break;
		b->answers++;
	}
}

static void answer(struct backend *b)
{
	char question[64];
	if (b != &backends[MUTE] && recv(b->peer, question, sizeof(question), MSG_DONTWAIT) > 0)
		must(write(b->peer, "200", 3));
}

int main(void)
{
	for (int i = 0; i < BACKENDS; i++) {
		int fds[2];
		pair("tcp", fds);
		backends[i] = (struct backend){.fd = fds[0], .peer = fds[1]};
		co_start(ask, &backends[i]);
	}
	for (unsigned rounds = 0; true;) {
		if (poller_turn(&waits, PAUSE_MS) != 0)
			continue;
		for (int i = 0; i < BACKENDS; i++)
			answer(&backends[i]);
		if (++rounds == BACKENDS)
			say("ready");
	}
}

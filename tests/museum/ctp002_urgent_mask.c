// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// engine: both
//
// Uploads to a store that acknowledges each block. Where a read says EAGAIN, an
// upload waits with the mask that its table has for the kind of its answers; and
// one row has the mask for urgent data, which is what they called the answers.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { UPLOADS = 3 };

static const uint32_t answers[UPLOADS] = {EPOLLIN, EPOLLPRI, EPOLLIN};
static int ep, fds[UPLOADS][2], waiting, done;

static void upload(void *arg)
{
	int i = (int)((int(*)[2])arg - fds);
	char answer[16];
	co_wait(ep, fds[i][0], EPOLLOUT | EPOLLONESHOT);
	must(write(fds[i][0], "block", 5));
	waiting++;
	while (co_blocked(read(fds[i][0], answer, sizeof(answer))))
		co_wait(ep, fds[i][0], answers[i] | EPOLLONESHOT); // fault
	done++;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < UPLOADS; i++) {
		pair("tcp", fds[i]);
		co_start(upload, fds[i]);
	}
	while (waiting < UPLOADS)
		co_turn(ep, -1);
	for (int i = 0; i < UPLOADS; i++)
		must(write(fds[i][1], "ack", 3));
	while (done < UPLOADS - 1)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// Who was not answered in time backs off, until the loop's deadline resumes it, as it has done before. What its
// peer sends meanwhile it reads then. (The next deadline does not come while this is looked at.)
#include "unread.h"

static bool late[3], started[3];

static void start(int i)
{
	if (!started[i])
		watch_conn(i, EPOLL_CTL_ADD, EPOLLIN);
	started[i] = true;
}

static void stop(int i)
{
	started[i] = false;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, conns[i].fd, NULL));
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char line[64];
	for (;;) {
		ssize_t n = read(c->fd, line, sizeof(line));
		if (co_blocked(n)) {
			start(number_of(c));
			co_yield();
			if (late[number_of(c)]) {
				c->waits = true;
				co_yield(); // until the deadline
				c->waits = late[number_of(c)] = false;
			}
		} else if (n <= 0) {
			return;
		} else {
			c->got++;
		}
	}
}

static void back_off(int i)
{
	late[i] = true;
	co_resume(conns[i].co);
	stop(i);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		conns[i].co = co_new(serve, &conns[i]);
		co_resume(conns[i].co);
		send_text(i, "hello\n");
		while (!conns[i].got)
			turn(-1, resume_reader);
	}
	back_off(1);
	co_resume(conns[1].co); // the deadline
	back_off(2);
	send_text(2, "here I am\n");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}

// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// Who was not answered in time backs off, until the loop's deadline resumes it, as it has done before. What its
// peer sends meanwhile it reads then. (The next deadline does not come while this is looked at.)
#include "stopped.h"

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
	greet_all(serve);
	back_off(1);
	co_resume(conns[1].co); // the deadline
	back_off(2);
	send_text(2, "here I am\n");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}

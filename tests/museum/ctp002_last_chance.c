// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// A loop takes a watcher that was stopped out of its set after the turn. Who was not answered in time gets a last
// chance, and waits again: but its watcher is not started again, and the answer stays unread.
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
				co_yield(); // fault
			}
		} else if (n <= 0) {
			return;
		} else {
			c->got++;
		}
	}
}

int main(void)
{
	greet_all(serve);
	late[2] = true;
	co_resume(conns[2].co); // its time is up
	stop(2);
	send_text(2, "here I am\n");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}

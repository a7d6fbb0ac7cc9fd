// SPDX-License-Identifier: MIT
// expect: clean
//
// A request is read until EAGAIN, and its one-shot row stays dead while the
// session waits in a queue for its answer, which a database connection will
// bring: so that the client cannot flood it. More requests wait in the socket.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct {
	struct co *session;
	int fd;
} waits_for_answer;
static int ep, conn, database;

static void read_request(char *buf, size_t n)
{
	co_read(ep, conn, buf, n);
	while (!co_blocked(read(conn, buf, n)))
		;
}

static void wait_for_answer(void)
{
	waits_for_answer.session = co_self();
	co_yield();
}

static void session(void *arg)
{
	char buf[64];
	(void)arg;
	for (;;) {
		read_request(buf, sizeof(buf));
		wait_for_answer();
	}
}

static void database_client(void *arg)
{
	char row[64];
	(void)arg;
	while (co_read(ep, database, row, sizeof(row)) > 0)
		if (waits_for_answer.session)
			co_resume(waits_for_answer.session);
}

int main(void)
{
	int fds[2], db[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	pair("tcp", db);
	conn = fds[0];
	database = db[0];
	co_start(database_client, NULL);
	co_start(session, NULL);
	must(write(fds[1], "SELECT 1", 8));
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(fds[1], "SELECT 2", 8));
	say("ready");
	co_loop(ep);
}

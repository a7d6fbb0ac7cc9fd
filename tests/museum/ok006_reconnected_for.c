// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A connection pool replaces broken connections under the queries that wait on
// them: it closes the old one, opens another, which has the same number, and
// resumes the query, which asks again on it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct conn {
	int fds[2];
	struct co *query;
} conn;
static int ep;

static void query(void *arg)
{
	struct conn *c = arg;
	char row[8];
	c->query = co_self();
	while (co_read(ep, c->fds[0], row, sizeof(row)) > 0)
		;
}

static void pool_keeper(void *arg)
{
	struct conn *c = arg;
	for (int i = 0; i < 3; i++) {
		close(c->fds[0]);
		close(c->fds[1]);
		pair("unix", c->fds);
		must(write(c->fds[0], "hello", 5));
		co_resume(c->query);
		co_yield();
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", conn.fds);
	co_start(query, &conn);
	struct co *keeper = co_new(pool_keeper, &conn);
	for (int i = 0; i < 4; i++)
		co_resume(keeper);
	say("ready");
	co_loop(ep);
}

// SPDX-License-Identifier: MIT
// expect: CTP011 proven, 1 coroutine
//
// A connection has an entry in the queue of events and one in the queue of
// deadlines. The event comes, the coroutine answers and returns; then the
// deadline comes, and resumes it once more.
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct conn {
	ucontext_t ctx, loop;
	bool keep_alive;
	int requests;
} conn;
static char stack[64 << 10];

static NOINLINE void wait_request(struct conn *c)
{
	swapcontext(&c->ctx, &c->loop);
}

static void conn_handler(void)
{
	do {
		wait_request(&conn);
		conn.requests++;
	} while (conn.keep_alive);
}

static NOINLINE void resume(struct conn *c)
{
	swapcontext(&c->loop, &c->ctx);
}

static NOINLINE void on_event(struct conn *c)
{
	resume(c);
}

static NOINLINE void on_deadline(struct conn *c)
{
	c->keep_alive = true;
	resume(c); // fault
}

int main(void)
{
	must(getcontext(&conn.ctx));
	conn.ctx.uc_stack.ss_sp = stack;
	conn.ctx.uc_stack.ss_size = sizeof(stack);
	conn.ctx.uc_link = &conn.loop;
	makecontext(&conn.ctx, conn_handler, 0);
	resume(&conn);
	on_event(&conn);
	on_deadline(&conn);
	say("ready");
	pause();
}

// SPDX-License-Identifier: MIT
// expect: CTP027 none..suspect, 1 coroutine
// engine: both
//
// A request has a deadline until the answer begins. Then it is lifted, and the request waits on, for the end of
// the answer, without being resumed. No other deadline is left.
#include "deadlines.h"

static struct deadline *until_answer;

static void request(void *arg)
{
	(void)arg;
	until_answer = add_deadline(3000);
	co_yield();
}

static void answer(void *arg)
{
	take_out(arg);
	set_next();
	stopped_ms = now_ms();
	co_yield();
}

static void begin_answer(void)
{
	co_start(answer, until_answer);
}

int main(void)
{
	begin_deadlines();
	co_start(request, NULL);
	turn_until_told(begin_answer);
}

// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// Three refreshers sleep for a moment each time, and a housekeeper for longer. A request
// that is cancelled removes a timer by a stale number: it is the housekeeper's, which
// has slept once so far. That is too little for a finding, as its next sleep may be a
// longer one; but the report leads there.
#include <stdbool.h>

#include "rhythm.h"

enum { REFRESHERS = 3, SHORT = 4, LONG = 40 };

static bool slept;
static struct co *volatile housekeeper; // by which a shutdown would find it

static void refresh(void *arg)
{
	(void)arg;
	while (true)
		sleep_for(SHORT);
}

static void keep_house(void *arg)
{
	(void)arg;
	housekeeper = co_self();
	while (true) {
		sleep_for(LONG); // fault
		slept = true;
	}
}

static void cancel(int number)
{
	sleepers[number].co = NULL;
}

int main(void)
{
	start_all(refresh, REFRESHERS);
	co_start(keep_house, NULL);
	while (!slept)
		tick();
	int number = 0;
	while (sleepers[number].ticks != LONG)
		number++;
	cancel(number);
	stopped_ms = now_ms();
	while (true) {
		tick();
		if (stands_out()) {
			say("ready");
			stopped_ms = 0;
		}
	}
}

// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
// needs: libpth-dev
//
// GNU Pth. A transfer locks the account that it takes from, lets others run, and locks
// the one that it gives to. Two transfers cross. A third thread goes on all the time:
// the program never rests.
#include <pth.h>

#include "must.h"

struct account {
	pth_mutex_t mutex;
	int cents;
};

static struct account rent = {.mutex = PTH_MUTEX_INIT, .cents = 900},
		      food = {.mutex = PTH_MUTEX_INIT, .cents = 300};
static int moved, ticks;

static void move(struct account *from, struct account *to)
{
	must(pth_mutex_acquire(&from->mutex, FALSE, NULL) ? 0 : -1);
	pth_yield(NULL);
	must(pth_mutex_acquire(&to->mutex, FALSE, NULL) ? 0 : -1); // fault
	from->cents -= 100;
	to->cents += 100;
	moved++;
	pth_mutex_release(&to->mutex);
	pth_mutex_release(&from->mutex);
}

static void *pay_rent(void *arg)
{
	move(&food, &rent);
	return arg;
}

static void *buy_food(void *arg)
{
	move(&rent, &food);
	return arg;
}

int main(void)
{
	must(pth_init() ? 0 : -1);
	must(pth_join(pth_spawn(PTH_ATTR_DEFAULT, pay_rent, NULL), NULL) ? 0 : -1);
	must(moved == 1 ? 0 : -1);
	pth_spawn(PTH_ATTR_DEFAULT, pay_rent, NULL);
	pth_spawn(PTH_ATTR_DEFAULT, buy_food, NULL);
	for (;; ticks++) {
		must(moved == 1 ? 0 : -1);
		pth_usleep(5000);
		if (ticks == 5)
			say("ready");
	}
}

// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A generator saves where it begins (getcontext), yields three numbers, and
// leaves for good (setcontext). Its user goes back to the beginning for a second pass.
#include "co.h"
#include "must.h"

static ucontext_t own, beginning, user;
static char stack[64 << 10];
static volatile int value;

static void numbers(void)
{
	must(getcontext(&beginning));
	for (volatile int i = 1; i <= 3; i++) {
		value = i;
		swapcontext(&own, &user);
	}
	value = 0;
	setcontext(&user);
}

static int sum_from(ucontext_t *at)
{
	int sum = 0;
	swapcontext(&user, at);
	for (; value; swapcontext(&user, &own))
		sum += value;
	return sum;
}

int main(void)
{
	must(getcontext(&own));
	own.uc_stack.ss_sp = stack;
	own.uc_stack.ss_size = sizeof(stack);
	makecontext(&own, numbers, 0);
	int first = sum_from(&own), second = sum_from(&beginning);
	say(first == 6 && second == 6 ? "done" : "wrong");
}

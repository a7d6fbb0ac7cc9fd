// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A search with choices: at a choice a copy of the stack is taken. When the search
// has returned without luck, the copy is put back and the next choice is tried.
#include <string.h>

#include "co.h"
#include "must.h"

static ucontext_t search, tries;
static char stack[64 << 10], copy[sizeof(stack)];
static volatile int choice, found;

static void find(void)
{
	int first = 40;
	swapcontext(&search, &tries); // choose
	if (first + choice == 42)
		found = choice;
}

int main(void)
{
	must(getcontext(&search));
	search.uc_stack.ss_sp = stack;
	search.uc_stack.ss_size = sizeof(stack);
	search.uc_link = &tries;
	makecontext(&search, find, 0);
	swapcontext(&tries, &search);
	memcpy(copy, stack, sizeof(copy));
	for (choice = 0; !found && choice < 5; choice++) {
		memcpy(stack, copy, sizeof(copy));
		swapcontext(&tries, &search);
	}
	say(found == 2 ? "done" : "wrong");
}

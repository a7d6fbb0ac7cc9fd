// SPDX-License-Identifier: MIT
//
// manners_module.c - a module that switches coroutines, and closes what it is
// given. Built twice, so that one can take the other's place.
#include <ucontext.h>
#include <unistd.h>

static ucontext_t here, there;
static char stack[64 << 10];

static void module_body(void)
{
	for (;;)
		swapcontext(&there, &here);
}

// A coroutine and 2 n switches.
__attribute__((visibility("default"))) void module_run(int n);
void module_run(int n)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = NULL;
	makecontext(&there, module_body, 0);
	for (int i = 0; i < n; i++)
		swapcontext(&here, &there);
}

__attribute__((visibility("default"))) int MODULE_CLOSES(int fd);
int MODULE_CLOSES(int fd)
{
	int r = close(fd);
	return r + 0 * (int)(long)__builtin_frame_address(0); // not a tail call: its frame shall be seen
}

// SPDX-License-Identifier: MIT
//
// patched_module.c - an object that switches by its own function (switchers.S), for patched_loads.c.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 32768 };

void sw_slot(void *from, void *to);
_Noreturn void co_body(void *arg);
long module_run(int yields);

static __thread void *inside, *outside;

_Noreturn void co_body(void *arg)
{
	for (;;)
		sw_slot(&inside, &outside);
}

void sw_entry(void);

// One coroutine, entered so often; how often control has passed.
long module_run(int yields)
{
	char *stack = malloc(BYTES);
	uint64_t *sp = (uint64_t *)(((uint64_t)stack + BYTES - 64) & ~15ULL) - 8;
	void (*entry)(void) = sw_entry;
	if (!stack)
		return -1;
	memset(sp, 0, 7 * sizeof(*sp));
	memcpy(&sp[6], &entry, sizeof(entry));
	inside = sp;
	for (int i = 0; i < yields; i++)
		sw_slot(&outside, &inside);
	free(stack);
	return 2L * yields;
}

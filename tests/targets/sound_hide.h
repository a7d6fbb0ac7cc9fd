// SPDX-License-Identifier: MIT
//
// sound_hide.h - the ways to hide the last pointer to a coroutine.
#pragma once

#include "co.h"
#include "must.h"

struct hide {
	const char *name;
	struct co *(*make)(co_fn *fn); // NULL: co_new
	void (*hide)(struct co *c);
	struct co *(*find)(void);
};
// Each ends with a name of NULL. A program has those of the sources it is made from.
extern const struct hide hides[] __attribute__((weak)), hides_stack[] __attribute__((weak)), hides_kernel[] __attribute__((weak)),
	hides_heap[] __attribute__((weak)), hides_ends[] __attribute__((weak)), hides_designs[] __attribute__((weak)),
	hides_registers[] __attribute__((weak)), hides_cxx[] __attribute__((weak));
extern int ep, victim[2];

// Nothing that the calls before left in dead frames may look like the way back.
void wipe(void);
// The descriptor is closed, and the loop runs; for a way that does not come back from hiding.
_Noreturn void settle(void);

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
extern const struct hide hides[]; // ends with a name of NULL
extern int ep;

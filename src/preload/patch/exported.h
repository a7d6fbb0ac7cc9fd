// SPDX-License-Identifier: MIT
//
// exported.h - switch functions that some libraries call by name: such a call comes to a stand-in of ours.
#pragma once

#include "preload/guest/switcher.h"

// What such a call goes through, by the number of its name: the instance that the last one went through.
extern struct switcher *exported_now[EXPORTED_NAMES] __attribute__((visibility("hidden")));

struct exported {
	struct switcher *through; // NULL: straight to `fn`
	void *fn;
};

// The instance for the function that name number `at` is to the module that calls at `caller`.
struct exported exported_find(unsigned at, uint64_t caller) __attribute__((visibility("hidden")));

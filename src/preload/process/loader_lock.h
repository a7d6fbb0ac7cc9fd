// SPDX-License-Identifier: MIT
//
// loader_lock.h - the lock under which the loader maps, relocates, closes and unmaps objects.
#pragma once

#include <stdbool.h>

// Calls fn(arg) while this thread holds it: no other thread is in a dlopen or a dlclose. The thread may hold
// it already. False: it cannot be had, and fn was not called.
bool loader_lock_call(void (*fn)(void *arg), void *arg);

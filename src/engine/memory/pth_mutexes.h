// SPDX-License-Identifier: MIT
//
// pth_mutexes.h - circles of coroutines that wait for each other's mutexes of GNU Pth.
//
// Such a mutex says who has it, but not who waits: a thread that wants it has an event that names the mutex,
// and nothing leads from the mutex to the thread.
#pragma once

#include "engine/memory/cycle_hubs.h"

// Finds circles in which no coroutine is in two. How many, of `most`; -ENOMEM.
int pth_mutexes_find(const struct hubs *h, struct cycle_hubs_circle *out, size_t most);

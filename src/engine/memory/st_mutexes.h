// SPDX-License-Identifier: MIT
//
// st_mutexes.h - mutexes of State Threads that a thread has which has ended.
//
// Nobody unlocks such a mutex any more: the library lets its owner alone do so. It is known by its layout, so
// what only remembers somebody is not taken for one.
#pragma once

#include "engine/memory/hub_holders.h"

// How many, of `most`. `ended` is the thread that has it.
size_t st_mutexes_find(const struct hubs *h, struct hub_holder *out, size_t most);

// SPDX-License-Identifier: MIT
//
// container_hubs.h - circles of coroutines that wait for each other's locks, where a lock's queue is a
// container of the C++ library.
#pragma once

#include "engine/memory/cycle_hubs.h"

// Looks through these parts of memory, and at what lies around the words of frames. Circles in which no
// coroutine is in two; how many, of `most`; -ENOMEM.
int container_hubs_find(const struct hubs *h, const struct span *areas, size_t n,
			struct cycle_hubs_circle *out, size_t most);

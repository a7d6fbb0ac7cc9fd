// SPDX-License-Identifier: MIT
//
// parked_ended.h - by stack at which coroutines are parked: how many were resumed from there and have ended
// since.
#pragma once

#include "trace/world.h"

// By stack, of *m, the one image of the trace; NULL: there is no memory, or it is not known. To be freed.
uint32_t *parked_ended(const struct world *w, const struct image *m);

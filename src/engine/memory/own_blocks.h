// SPDX-License-Identifier: MIT
//
// own_blocks.h - where else than at its begin a coroutine's memory may be named: a library puts what it knows
// of a coroutine at the top of its stack (Boost.Context's allocators, Photon), or into an element of an
// array.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/inspect/inspect.h"

// At most `most` of them, the likeliest first. How many.
size_t own_blocks(const struct inspection *l, const struct suspect *s, uint64_t *v, size_t most);

// SPDX-License-Identifier: MIT
//
// pads.h - the places in a function where an exception goes on, by its table of calls (as compilers write
// it).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PADS_MOST = 256 };

// table: its bytes; lo: where the function begins. False: it is of a form that is not known, or is cut off.
bool pads_read(const uint8_t *table, size_t bytes, uint64_t lo, uint64_t pads[PADS_MOST], size_t *n);

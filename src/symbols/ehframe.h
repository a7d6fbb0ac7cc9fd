// SPDX-License-Identifier: MIT
//
// ehframe.h - finds where a function without a name begins.
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

// The first address of the function that has `address` (both as in the file), by the program's unwind table;
// 0: not known.
uint64_t ehframe_function(Elf *elf, uint64_t address);

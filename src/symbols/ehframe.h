// SPDX-License-Identifier: MIT
//
// ehframe.h - finds where functions without names begin.
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The first address of the function that has `address` (both as in the file), by the program's unwind table;
// 0: not known.
uint64_t ehframe_function(Elf *elf, uint64_t address);
// All such addresses, in order; *starts is to be freed. 0, also if there is no such table; -ENOMEM.
int ehframe_starts(Elf *elf, uint64_t **starts, size_t *n);

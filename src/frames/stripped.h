// SPDX-License-Identifier: MIT
//
// stripped.h - the coroutine functions of an object file that has no symbol table.
#pragma once

#include <libelf.h>

#include "frames/pairs.h"

// Adds the pairs that its code shows, at its addresses and `bias`. 0, also if there are none; -ENOMEM.
int stripped_add(struct pairs *p, Elf *elf, const struct pairs_module *m, uint64_t bias);

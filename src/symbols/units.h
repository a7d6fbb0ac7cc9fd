// SPDX-License-Identifier: MIT
//
// units.h - which compilation unit has an address, where no .debug_aranges says so (clang writes none).
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

struct units; // an index of one object file's units by the addresses of their code

// 0 or -ENOMEM. What of the debug information cannot be read is left out.
int units_new(struct units **out, Dwarf *dwarf);
void units_free(struct units *u);
// The unit whose code has the address (as in the file); false: none is known.
bool units_at(const struct units *u, Dwarf_Addr address, Dwarf_Die *unit);

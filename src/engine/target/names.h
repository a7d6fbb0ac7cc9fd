// SPDX-License-Identifier: MIT
//
// names.h - symbols for addresses of the target's data.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/target/proc.h"

// True if `addr` lies in the static storage (.data, .bss) of some module.
// symbol may be NULL; else it is `name+0x10`, or the module's name if no symbol holds it.
bool names_static(pid_t pid, const struct proc_maps *maps, uint64_t addr, char *symbol, size_t bytes);

// The same, with the maps as they are now. Empty if it has no name.
void names_of(pid_t pid, uint64_t addr, char *symbol, size_t bytes);

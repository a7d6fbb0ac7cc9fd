// SPDX-License-Identifier: MIT
//
// boundary.h - which registers of a sleeping thread can still hold a value of the program.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/inspect/inspect.h"

// Does `pc` lie in the text of the C library?
bool boundary_in_libc(const struct proc_maps *maps, uint64_t pc);
// Has the program made a call, whose callee need not preserve vector registers, and is the thread
// asleep in that callee? Then none of its vector registers holds a value that the program can use.
bool boundary_vectors_dead(const struct inspection *l, const struct proc_task *t);

// SPDX-License-Identifier: MIT
//
// awaits.h - where a coroutine function awaits, if there is but one place.
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

// An address within the await_suspend that was inlined into the function's code, or into that of one into
// which the function was inlined. 0: none, or at several lines.
uint64_t awaits_find(Dwarf_Die *unit, Dwarf_Die *function);
// How many bytes the promise of this coroutine function, made by Clang, has; 0: not known.
uint64_t awaits_promise(Dwarf_Die *function);

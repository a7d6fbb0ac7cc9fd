// SPDX-License-Identifier: MIT
//
// has_coroutines.h - whether an object was compiled from C++20 coroutines, by its symbol table.
#pragma once

#include "preload/patch/object.h"

// It reads files: not in a program that does not expect that. False, too, if it cannot be told. Main has not
// begun, or the loader's lock is held.
bool has_coroutines(const struct object *o);
// While the program runs, on a thread that has just mapped an object: may files be read? Not where system
// calls are filtered.
bool may_read(void);

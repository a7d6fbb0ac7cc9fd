// SPDX-License-Identifier: MIT
//
// code.h - the known bodies in an object's code.
#pragma once

#include "preload/patch/match.h"
#include "preload/patch/object.h"

// As match_all, of all of its code. by_file: files may be opened and read. Not so while the program runs: it
// may have restricted itself since it started, and would be killed for that. (To one that has, ctp-run does
// not attach.)
size_t code_matches(const struct object *o, bool by_file, struct match *out, size_t most);
// The file that the object was mapped from, by its first page; -1: it is not to be had. The loader's lock is
// held, or main has not begun.
int code_open(const struct object *o);

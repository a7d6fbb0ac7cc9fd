// SPDX-License-Identifier: MIT
//
// births.h - when and where the frames of C++20 coroutines are allocated.
#pragma once

#include <link.h>

#include "preload/patch/object.h"

void births_init(void); // the region is a fresh one
// Of the objects that are loaded, those that have such coroutines call operator new and delete through us
// from now on. Once, before main.
void births_start(void);
// The same of one that the loader has mapped since, and will relocate; and that it has gone. The loader's
// lock is held.
void births_opened(const struct object *o);
void births_gone(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi);

// SPDX-License-Identifier: MIT
//
// loaded.h - the objects that the loader has mapped, now and later.
#pragma once

#include <link.h>
#include <stdbool.h>

#include "preload/patch/object.h"

// Looks through all of them, and from now on through each new one before its code runs.
// Once, before main.
void loaded_start(void);
// The same in a program that runs already: what is there is not patched. Each new object is told of before
// it is relocated, on the thread that loads it, with the loader's lock held; so is each that has gone.
// False: they are not seen.
bool loaded_start_late(void (*opened)(const struct object *o), void (*gone)(const ElfW(Dyn) * ld));
// Takes that out of the way. Takes no lock.
void loaded_stop_late(void);

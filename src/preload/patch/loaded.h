// SPDX-License-Identifier: MIT
//
// loaded.h - the objects that the loader has mapped, now and later.
#pragma once

#include <link.h>
#include <stdbool.h>

#include "preload/patch/object.h"

// Looks through all of them, and from now on through each new one before its code runs. Each new object is
// told of before it is relocated, on the thread that loads it, with the loader's lock held; so is each that
// has gone, with where it lay. Once, before main.
void loaded_start(void (*opened)(const struct object *o),
		  void (*gone)(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi));
// The same in a program that runs already: what is there is patched as far as that can be done under threads.
// With the loader's lock held. False: new ones are not seen.
bool loaded_start_late(void (*opened)(const struct object *o),
		       void (*gone)(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi));
// Takes that out of the way. With the loader's lock held.
void loaded_stop_late(void);

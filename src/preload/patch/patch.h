// SPDX-License-Identifier: MIT
//
// patch.h - switch functions that cannot be interposed get an entry that leads to a trampoline.
#pragma once

#include "preload/patch/object.h"

// Looks through an object's code, patches all that it has or nothing, and says so in the region.
// fresh: no code of it has run yet.
void patch_object(const struct object *o, bool fresh);

// An object has gone, with what was patched in it.
void patch_gone(uint64_t lo, uint64_t hi);

// Ends a series of the above.
void patch_close(void);

// What is to be called instead of `fn` so that no trampoline of a patched entry is passed.
void *patch_behind(void *fn);

// Overwrites code of this process, whatever its protection. 0 or -errno.
int patch_write(void *at, const void *bytes, size_t n);

// SPDX-License-Identifier: MIT
//
// patch.h - switch functions that cannot be interposed get an entry that leads to a trampoline.
#pragma once

#include "preload/guest/switcher.h"
#include "preload/patch/object.h"

// Looks through an object's code, patches all that it has or nothing, and says so in the region.
enum patch_when {
	PATCH_START, // before main: other threads may run, but that can be seen
	PATCH_FRESH, // no code of it has run yet
	PATCH_RUNS,  // the program has run for a while: only what can be patched under threads (live.h)
};
void patch_object(const struct object *o, enum patch_when when);

// What was patched of it while ctp-run was attached before is patched again, and said in a new region. False:
// nothing was.
bool patch_again(const struct object *o);

// Functions that were patched under running threads get their own code back. With the loader's lock held.
void patch_rest(void);

// An object has gone, with what was patched in it.
void patch_gone(uint64_t lo, uint64_t hi);

// Ends a series of the above.
void patch_close(void);

// What is to be called instead of `fn` so that no trampoline of a patched entry is passed.
void *patch_behind(void *fn);

// The instance of the patched function `fn`, or of which `fn` is what lies behind the entry; NULL: there is
// none.
struct switcher *patch_instance(const void *fn);

// Is any function in [lo, hi) patched?
bool patch_within(uint64_t lo, uint64_t hi);

// Where calls of such a function go.
void (*patch_trampoline(enum switcher_family family))(void);

// Notes that calls of the function come through its name. Its row in the region, + 1; 0: there is no room.
uint32_t patch_note_interposed(const struct object *o, const uint8_t *fn, const char *kind);

// Overwrites code of this process, whatever its protection. 0 or -errno.
int patch_write(void *at, const void *bytes, size_t n);

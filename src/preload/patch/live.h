// SPDX-License-Identifier: MIT
//
// live.h - entries of functions that threads may run meanwhile.
#pragma once

#include "preload/guest/switcher.h"
#include "preload/patch/object.h"

// Can the function at `at` get an entry under running threads?
bool live_can(const uint8_t *at);

// What was changed.
struct live {
	uint64_t *word;
	uint64_t was, now;
};

// Leads the function to `s`. 0 or -errno.
int live_patch(struct live *l, const struct object *o, uint8_t *at, const struct switcher *s);
// Takes it back, and puts it there again, if the code is as it was left. 0 or -errno.
int live_undo(const struct live *l);
int live_redo(const struct live *l);

// Has every thread of the process fetch anew what it runs. 0 or -errno.
long live_fetch_anew(void);

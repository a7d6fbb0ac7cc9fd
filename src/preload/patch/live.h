// SPDX-License-Identifier: MIT
//
// live.h - entries of functions that threads may run meanwhile.
#pragma once

#include "preload/guest/switcher.h"
#include "preload/patch/object.h"

// Is there memory that the entry of the function at `at` can lead to?
bool live_can(uint8_t *at);

// What was changed.
struct live {
	uint64_t *word;
	uint64_t was, now;
};

// Leads the function to `s`, which stays: a thread may be on its way there for as long as the process lives.
// 0 or -errno.
int live_patch(struct live *l, const struct object *o, uint8_t *at, const struct switcher *s);
bool live_stands(const struct live *l);
// Takes it back, and puts it there again, if the code is as it was left. 0 or -errno.
int live_undo(const struct live *l);
int live_redo(const struct live *l);

// Has every thread of the process fetch anew what it runs. 0 or -errno.
long live_fetch_anew(void);

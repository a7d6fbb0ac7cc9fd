// SPDX-License-Identifier: MIT
//
// finished_kept.h - coroutines that have ended in a library that keeps them, with their stacks.
#pragma once

#include "analyze/report/finding.h"

// Marks them in r->kept, takes them out of what CTP003 says, and tells how many there are.
int finished_kept_find(struct report *r, bool parked);
bool finished_kept(const struct report *r, const struct image *m, size_t row);
void finished_kept_deinit(struct report *r);

// SPDX-License-Identifier: MIT
//
// find.h - words in memory that begin a coroutine's frame, and what of them is left of frames that were
// freed.
#pragma once

#include "frames/stackless.h"

// Fills in at, pair, same, block, nested, unsure. 0; -EAGAIN, -EIO, -ENOMEM.
int find_frames(struct stackless_list *l, const struct stackless_where *w);

// SPDX-License-Identifier: MIT
//
// frames.h - the stacks of an image as frames.
#pragma once

#include "symbols/frames.h"
#include "trace/world.h"

int frames_symbols(struct symbols **out, const struct world *w, const struct image *m, const char *symfs);
// The frames of a stack id. An id that was not captured gives none.
int frames_read(struct frames *f, struct symbols *s, const struct image *m, uint32_t stack);

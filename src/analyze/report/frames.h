// SPDX-License-Identifier: MIT
//
// frames.h - the stacks of an image as frames.
#pragma once

#include "symbols/frames.h"
#include "trace/world.h"

int frames_symbols(struct symbols **out, const struct world *w, const struct image *m, const char *symfs);
// The frames of a stack id. An id that was not captured gives none.
int frames_read(struct frames *f, struct symbols *s, const struct image *m, uint32_t stack);
// " in FUNCTION FILE:LINE": the innermost frame that is no library's; "" if that is not known. s: NULL,
// too.
void frames_where(struct symbols *s, const struct image *m, uint32_t stack, char *buf, size_t bytes);
// The innermost frames whose source is known, so many at most; without any, the innermost of all.
void frames_chain(struct symbols *s, const struct image *m, uint32_t stack, unsigned most, char *buf,
		  size_t bytes);

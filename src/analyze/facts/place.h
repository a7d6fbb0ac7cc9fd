// SPDX-License-Identifier: MIT
//
// place.h - where a coroutine stands, as a fact says it: from the first frame on that tells it from others.
#pragma once

#include "analyze/report/finding.h"

enum { PLACE_FRAMES = 3, PLACE_BYTES = 600 };

// " in A FILE:LINE <- B FILE:LINE", `most` frames at most; "" if nothing is known of the stack, or no symbols
// are. Left out: libraries' frames, and innermost ones of the program that most of its suspended coroutines
// have, or that lie in the file in which the coroutine begins: the program's own coroutine layer. False: none
// of it is the program's own.
bool place_text(struct report *r, const struct image *m, uint32_t stack, unsigned most, char *buf,
		size_t bytes);
// PLACE_FRAMES of them, and further ones up to that which tells this stack from others at which coroutines
// are suspended, where these are the same.
bool place_text_apart(struct report *r, const struct image *m, uint32_t stack, char *buf, size_t bytes);

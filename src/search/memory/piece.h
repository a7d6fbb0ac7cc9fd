// SPDX-License-Identifier: MIT
//
// piece.h - what is searched for: a piece of memory, and whose it is.
#pragma once

#include <stdbool.h>

#include "search/memory/span.h"

struct search_piece {
	struct span at;    // of a block of the heap: from its memory to its last word, which lies in the next
			   // one's header
	struct span stack; // the stack in it, as declared; {0, 0}: there is none
	uint32_t node;     // its owner
	bool heap;         // a block of the heap
	bool made;         // the stack was seen to be made, and all other memory of its owner is known
};

// SPDX-License-Identifier: MIT
//
// pieces.h - the suspects' memory as pieces that src/search can search for.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/memory/piece.h"
#include "search/stacks/stack_ends.h"

// The memory of the suspects that have some of their own; the node of a piece is the suspect's index. For
// free(); NULL: out of memory.
struct search_piece *pieces_take(const struct inspection *l, size_t *n);
// What begins where a piece ends. The pieces stay where they are.
void pieces_find_ends(struct stack_ends *ends, const struct inspection *l, const struct search_piece *pieces,
		      size_t n);

// SPDX-License-Identifier: MIT
//
// search.h - the conservative search: does any word in memory reference some pieces of it?
//
// Each node is one owner's memory. A word counts as a reference if it holds an address of a node, whatever
// the word was meant to be. A word in another block of the heap counts only if that block is itself
// referenced: so the blocks in which references were found become nodes too, and memory is searched again,
// until no more are found. All other words are roots.
#pragma once

#include "search/mark/graph.h"
#include "search/memory/memory.h"
#include "search/memory/piece.h"
#include "search/memory/span.h"
#include "search/stacks/stack_ends.h"
#include "search/mark/words.h"

struct search {
	const struct memory *memory;
	const struct search_piece *pieces;
	size_t npieces, nodes;
	const struct span *skip; // memory that holds nothing anybody can still use; sorted, disjoint
	size_t nskip;
	struct span_list freed; // memory that the allocator has back: no word in it counts (malloc_free.h)
	struct stack_ends ends; // of the pieces' mappings
	uint64_t guard;         // how glibc disguises a jmp_buf's addresses
	unsigned rotate;        // (ctp_ext.pointer_guard); guard 0: not looked for
	// results
	struct graph g; // nodes, then blocks of the heap; not yet spread
	uint64_t bytes; // looked at, the last time
	char why[160];  // if it failed
	bool partial;   // not all references were kept
	// what follows is search.c's
	struct span_list blocks; // of the heap, which hold words that reference a node
	struct span_list idle;   // headers of chunks behind such blocks that are not in use
	struct words faint;      // with a tag, at no multiple of eight, to the middle of a node
	struct words doubtful;   // that reference such a header: the allocator's own, perhaps; or an end
};

// 0: all that can hold a pointer was read. -EAGAIN (time), -EIO (a hole): `why`; -ENOMEM.
int search_run(struct search *s);
void search_deinit(struct search *s); // also `freed` and `ends`

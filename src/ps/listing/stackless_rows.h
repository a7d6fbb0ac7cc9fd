// SPDX-License-Identifier: MIT
//
// stackless_rows.h - rows of a process's or a core's C++20 coroutines, traced or not.
#pragma once

#include "find/image.h"
#include "frames/pairs.h"
#include "ps/listing/listing.h"
#include "search/memory/span.h"

// Only those that are lost.
struct stackless_lost {
	const struct span_list *unreached; // blocks to which nothing leads; NULL: not decided, only counted
	struct listing_seen *seen;         // at the first of two looks,
	bool first;                        // which this is: it adds no row
	const char *why;
};

// Adds them to a listing that has its symbols. `skip`: memory in which no frame can lie. which: NULL, all.
// 0; -ENOMEM; *l->partial says why not all was searched.
int stackless_rows(struct listing *l, const struct image *im, const struct span *skip, size_t nskip,
		   const struct stackless_lost *which);
// What one who looks again and again need not read anew while the program maps the same code.
struct stackless_kept {
	struct pairs pairs;
	uint64_t code; // which that is
	bool read;
};
// Reads it, where it is of other code, or `anew`. 0 or -ENOMEM.
int stackless_keep(struct stackless_kept *k, const struct image *im, bool anew);
bool stackless_is_of(const struct stackless_kept *k,
		     const struct image *im); // of the code that is mapped now?
// As stackless_rows.
int stackless_rows_kept(struct listing *l, const struct image *im, const struct stackless_kept *k);
// A process's, by address and without groups, in a listing that is kept from look to look: numbers of stacks
// stay what they were, but where *anew says so. 0 or -errno: then it has no rows.
int stackless_again(struct listing *l, struct stackless_kept *k, pid_t pid, const struct span *skip,
		    size_t nskip, bool *anew);
void stackless_forget(struct listing *l, struct stackless_kept *k);
// A listing of them alone, of a process (`core` NULL) or a core file. *l is empty, and nothing of it need be
// given back, where the program has none. As search_rows.
int stackless_listing(struct listing *l, pid_t pid, const char *core, const struct span *skip, size_t nskip,
		      bool apart);

// SPDX-License-Identifier: MIT
//
// malloc_free.h - memory that the program has given back to glibc's malloc, and that
// lies in its lists: no word in there is the program's any more.
#pragma once

#include "search/memory/memory.h"
#include "search/memory/span.h"

// Adds what is certain; nothing may run meanwhile. Sorted, disjoint.
void malloc_free_find(const struct memory *m, struct span_list *out);

// SPDX-License-Identifier: MIT
//
// malloc_free.h - memory that the program has given back to glibc's malloc, and that
// lies in its lists: no word in there is the program's any more.
#pragma once

#include "engine/inspect/span.h"
#include "engine/target/proc.h"

// Adds what is certain; nothing may run meanwhile. Sorted, disjoint.
void malloc_free_find(pid_t pid, const struct proc_maps *maps, struct span_list *out, uint64_t deadline_ns);

// SPDX-License-Identifier: MIT
//
// freed.h - memory that the program has given back to glibc's malloc, and that
// lies in its lists: no word in there is the program's any more.
#pragma once

#include "engine/dead.h"

// Adds what is certain; nothing may run meanwhile. Sorted, disjoint.
void freed_find(pid_t pid, const struct proc_maps *maps, struct span_list *out, uint64_t deadline_ns);

// SPDX-License-Identifier: MIT
//
// callees.h - frames that the program called, of which it has nothing.
#pragma once

#include "engine/memory/scan_exclude.h"
#include "unwind/unwind.h"

// Adds those of a thread asleep in one of our hooks; *u is made at its first use.
void callees_find(const struct look *l, const struct proc_task *t, struct unwind **u, struct span_list *out);

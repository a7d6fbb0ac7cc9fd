// SPDX-License-Identifier: MIT
//
// callees.h - frames that the program called, of which it has nothing.
#pragma once

#include "engine/inspect/look.h"
#include "engine/inspect/span.h"
#include "unwind/unwind.h"

enum { RED_ZONE = 128 }; // what a function may use below its stack pointer (x86-64 psABI 3.2.2)

// Adds those of a thread asleep in one of our hooks; *u is made at its first use.
void callees_find(const struct look *l, const struct proc_task *t, struct unwind **u, struct span_list *out);

// SPDX-License-Identifier: MIT
//
// callees.h - words in frames below a hook's caller, and registers, that hold nothing of the program.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/stacks/dead_stack.h"
#include "search/memory/span.h"
#include "unwind/unwind.h"

// Adds those of a thread asleep in one of our hooks; *u is made at its first use. t->inherited: which of its
// callee-saved registers still are as when the thread began.
void callees_find(const struct inspection *l, struct proc_task *t, struct unwind **u, struct span_list *out);

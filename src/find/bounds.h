// SPDX-License-Identifier: MIT
//
// bounds.h - where the stack of each context ends, which contexts lie on one stack, and which
// stacks a thread runs on.
#pragma once

#include "find/contexts.h"

struct unwind;

// Sets lo and hi; keeps one context of each stack; adds those that run. 0 or -ENOMEM.
int bounds_find(struct contexts *c, const struct shapes *all, struct unwind *u);

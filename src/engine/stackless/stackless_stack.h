// SPDX-License-Identifier: MIT
//
// stackless_stack.h - the stack of a coroutine's awaits, and the places in it.
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/idmap.h"
#include "engine/stackless/awaiting.h"

enum { STACKLESS_STACK_MOST = 32 };

// Where one is suspended, where the one that awaits it is, and so on. Places that were not told are put
// first.
json_t *stackless_stack_lines(FILE *out, struct awaiting *a, struct idmap *told, uint32_t row);

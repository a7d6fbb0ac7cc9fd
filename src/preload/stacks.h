// SPDX-License-Identifier: MIT
//
// stacks.h - naming a stack: the id of its frames, exact and cheap.
#pragma once

#include "guest.h"

int stacks_init(void); // 0, or -1 if there is no memory

// The id of the stack whose innermost frame is `f`, on memory [f->sp, top).
// 0 if it cannot be told. *guessed says that a frame had no CFI. *last: the
// caller's note of what this entity's stack was named by; NULL if it keeps none.
uint32_t stacks_id(const struct frame *f, uint64_t top, uint64_t *last, bool *guessed);

// Forgets what was learned about code: after dlclose.
void stacks_flush(void);

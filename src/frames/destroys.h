// SPDX-License-Identifier: MIT
//
// destroys.h - tells a coroutine's two functions by their code alone, where no symbol names them.
#pragma once

#include "frames/machine.h"
#include "frames/pairs.h"

// A function that destroys a coroutine.
struct destroys {
	enum pair_maker maker;
	uint32_t index;  // the offset of the state in the frame
	uint64_t resume; // that it ends with; 0: it has that inlined, or leads to no other
};

// Is that what begins at `at`? The machine has its `peek`.
bool destroys_learn(struct destroys *out, struct machine *m, uint64_t at);
// Does the function at `at` resume the same coroutine?
bool destroys_fits(const struct destroys *d, struct machine *m, uint64_t at);
// False: these bytes, a function's first, are not worth the question.
bool destroys_may(const uint8_t *bytes, size_t n);

// SPDX-License-Identifier: MIT
//
// harmless.h - can a function keep a pointer to a block of memory in a register that called functions
// preserve?
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All of a function's code. argument: its first argument is known to stand in memory as well, as that of a
// thread's first function does. Only if it puts nothing into register `number` (as instructions number them)
// but addresses of its own stack, numbers of 32 bits and constants, and what follows from these.
bool harmless_register(const uint8_t *code, size_t bytes, unsigned number, bool argument);

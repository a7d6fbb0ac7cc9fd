// SPDX-License-Identifier: MIT
//
// height.h - how far above the stack pointer does a function's frame end?
#pragma once

#include <stddef.h>
#include <stdint.h>

// All of its code; at: behind a call in it. Up to the stack pointer that its caller has; 0: not known.
uint32_t height_at(const uint8_t *code, size_t bytes, size_t at);

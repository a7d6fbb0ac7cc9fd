// SPDX-License-Identifier: MIT
//
// frame_digest.h - what a coroutine's frame holds, as a number.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "search/memory/span.h"

// Of the bytes of its block; 0: they could not be read, or are too many.
uint64_t frame_digest(pid_t pid, const struct span *block);

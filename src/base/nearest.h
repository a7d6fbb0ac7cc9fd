// SPDX-License-Identifier: MIT
//
// nearest.h - which known word was meant by a mistyped one.
#pragma once

#include <stddef.h>

// How many characters must be inserted, removed, replaced or exchanged with their neighbour to make `b`
// of the first `n` bytes of `a`. Words longer than 64 bytes are as far apart as the longer one is long.
unsigned nearest_distance(const char *a, size_t n, const char *b);
// True if a word of `n` bytes at this distance of another may stand for it: one edit in three characters.
int nearest_is_near(size_t n, unsigned distance);

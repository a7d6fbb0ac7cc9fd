// SPDX-License-Identifier: MIT
//
// stackless_lines.h - what an inspection found of C++20 coroutines, as lines of stackless.jsonl
// (spec/trace.md).
#pragma once

#include <stdio.h>

#include "engine/stackless/awaiting.h"
#include "engine/stackless/long_waits.h"

// Replaces what the file holds.
void stackless_lines_write(FILE *out, struct awaiting *a, const struct inspection *l, struct long_waits *w,
			   uint64_t ns);
// No look took place of a program that has so many functions of such coroutines.
void stackless_lines_unseen(FILE *out, size_t functions);

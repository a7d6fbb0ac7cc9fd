// SPDX-License-Identifier: MIT
//
// destroyed.h - C++20 coroutines that were destroyed while they were suspended: lines of stackless.jsonl
// (spec/trace.md).
#pragma once

#include <stdio.h>

#include "ctp/region.h"
#include "frames/pairs.h"

bool destroyed_any(const struct ctp_region *r);
void destroyed_write(FILE *out, const struct pairs *p, const struct ctp_region *r);

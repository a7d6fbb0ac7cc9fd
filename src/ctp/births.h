// SPDX-License-Identifier: MIT
//
// births.h - in which rows of the table of births a frame may stand. Blocks that lie side by side have rows
// that do: the table grows as the memory does of which it tells.
#pragma once

#include "ctp/region.h"

enum { CTP_BIRTHS_GROUP = 4 }; // a frame's row is one of so many, from here on

static inline uint64_t ctp_births_group(uint64_t at, uint32_t max)
{
	uint64_t far = (at >> 26) * 0x9e3779b97f4a7c15ULL >> 32;
	return ((at >> 5) + far) & (max - 1) & ~(uint64_t)(CTP_BIRTHS_GROUP - 1);
}

// What is known of the frame at `at`. False: nothing. The row may change meanwhile: it counts if it is the
// same before and after.
bool ctp_births_find(const struct ctp_region *r, uint64_t at, struct ctp_birth *out);

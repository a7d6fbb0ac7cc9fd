// SPDX-License-Identifier: MIT
//
// births.h - when and where C++20 coroutines were created, of a program whose allocations of them were seen.
#pragma once

#include "ps/listing/listing.h"
#include "ps/model/report.h"

// Adds it to the rows of the listing: the report is of the same process, and outlives it.
void births_add(struct listing *l, struct report *r);

// SPDX-License-Identifier: MIT
//
// finished_parked.h - coroutines that ended by a last switch away are no leak (CTP013).
#pragma once

#include "analyze/report/finding.h"

// Removes their cases, and adds a fact about them. 0 or -errno.
int finished_parked_remove(struct report *r);

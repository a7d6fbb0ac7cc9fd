// SPDX-License-Identifier: MIT
//
// finished_parked.h - coroutines that ended by a last switch away are no leak (CTP013).
#pragma once

#include "analyze/report/finding.h"

// Takes their cases out again, and makes a fact of them. 0 or -errno.
int report_gone(struct report *r);

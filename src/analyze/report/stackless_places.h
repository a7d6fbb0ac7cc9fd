// SPDX-License-Identifier: MIT
//
// stackless_places.h - the lines at which C++20 coroutines are suspended.
#pragma once

#include "analyze/report/finding.h"

// After report_symbols. 0 or -ENOMEM.
int stackless_places(struct report *r);

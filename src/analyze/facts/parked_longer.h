// SPDX-License-Identifier: MIT
//
// parked_longer.h - coroutines without a known wait that stand where they were resumed before, for far
// longer.
#pragma once

#include "analyze/report/finding.h"

// After accounting_count(). 0 or -errno.
int parked_longer_facts(struct report *r);

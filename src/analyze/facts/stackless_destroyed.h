// SPDX-License-Identifier: MIT
//
// stackless_destroyed.h - C++20 coroutines that were destroyed while they were suspended: how many, and
// where.
#pragma once

#include "analyze/report/finding.h"

// Adds the facts. 0 or -ENOMEM.
int stackless_destroyed_facts(struct report *r);

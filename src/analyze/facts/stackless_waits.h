// SPDX-License-Identifier: MIT
//
// stackless_waits.h - where C++20 coroutines have been suspended for long, without one of them being resumed.
#pragma once

#include "analyze/report/finding.h"

// Adds the facts. 0 or -ENOMEM.
int stackless_waits_facts(struct report *r);

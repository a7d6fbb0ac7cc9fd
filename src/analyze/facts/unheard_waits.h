// SPDX-License-Identifier: MIT
//
// unheard_waits.h - facts on coroutines for which something is there to be read for long, and nothing tells
// them.
#pragma once

#include "analyze/report/finding.h"

// After accounting_count. 0 or -errno.
int unheard_waits_facts(struct report *r);

// SPDX-License-Identifier: MIT
//
// last_used.h - facts on coroutines that were suspended for long without a known wait: where, for how long,
// and which descriptors they used last. That leads to a peer that never answers.
#pragma once

#include "analyze/report/finding.h"

// Of those that were destroyed so; parked: and of those that are suspended still (CTP003 was chosen). 0 or
// -errno.
int last_used_facts(struct report *r, bool parked);

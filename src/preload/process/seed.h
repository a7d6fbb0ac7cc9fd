// SPDX-License-Identifier: MIT
//
// seed.h - what was there before ctp-run attached goes into the tables, as far as no hook knows better. Both
// are called as those of late.h are.
#pragma once

#include "ctp/seed.h"

// How many descriptors were new; -EBUSY: this thread stands in a hook. Writes who got which station.
int64_t ctp_seed(struct ctp_seeds *seeds);
// Takes these registrations and coroutines out again, or notes that nothing leads to them (`unreached`); but
// not where a hook has seen them since.
int64_t ctp_unseed(struct ctp_seeds *seeds);

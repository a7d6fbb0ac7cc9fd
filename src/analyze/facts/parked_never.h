// SPDX-License-Identifier: MIT
//
// parked_never.h - facts on coroutines that are parked where none was ever resumed, while the program goes
// on.
#pragma once

#include "analyze/report/finding.h"

// 0 or -errno.
int parked_never_facts(struct report *r);

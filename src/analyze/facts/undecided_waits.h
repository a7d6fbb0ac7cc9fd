// SPDX-License-Identifier: MIT
//
// undecided_waits.h - facts on coroutines of which it could not be told whether anything resumes them,
// and why.
#pragma once

#include "analyze/report/finding.h"

// After accounting_count. 0 or -errno.
int undecided_waits_facts(struct report *r);

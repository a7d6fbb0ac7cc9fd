// SPDX-License-Identifier: MIT
//
// check.h - --check: what ctp-analyze reports on the trace that was just written.
#pragma once

#include "engine/start/options.h"

// Writes the report to where ctp speaks (with -q only if there is a finding).
// Positive: --error-exitcode, as there is a finding that counts (--fail-on);
// 0: none; -errno: ctp-analyze is not where it was installed, or cannot run.
int check_trace(const struct options *o, const char *trace);

// SPDX-License-Identifier: MIT
//
// facts.h - what is merely so, and may lead a reader to a fault that no rule names.
#pragma once

#include "analyze/report/finding.h"

// After report_make: those of the rules that were chosen. 0 or -errno.
int facts_make(struct report *r, const struct report_settings *settings);
// How many are healthy and parked (of the rule CTP003: `parked`), and how many were destroyed.
int facts_counts(struct report *r, bool parked);

// SPDX-License-Identifier: MIT
//
// accounting.h - every suspended coroutine is counted once: it is in a finding about its wait,
// or it waits for what can come, or it is parked, or it is in a pool, or nothing of that can be told.
#pragma once

#include "analyze/report/finding.h"

extern const char *const accounting_words[ACCOUNTS]; // "in findings"; of ACCOUNT_NONE: NULL

// Counts r->accounting, and r->accounts by row, from the findings that are in the report. May be called
// again. 0 or -ENOMEM.
int accounting_count(struct report *r);
void accounting_deinit(struct report *r);
// "12 suspended: 3 in findings, 7 healthy, 2 parked, 0 pooled, 0 undecided"; buf holds it.
const char *accounting_text(const struct report *r, char *buf, size_t bytes);

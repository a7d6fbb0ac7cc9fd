// SPDX-License-Identifier: MIT
//
// undecided.h - why nothing can be told of a coroutine that is neither in a finding nor healthy.
#pragma once

#include "analyze/report/finding.h"

// The reason, of one that counts as ACCOUNT_UNDECIDED; buf holds it.
const char *undecided_why(const struct report *r, const struct image *m, const struct ctp_state *s, char *buf,
			  size_t bytes);

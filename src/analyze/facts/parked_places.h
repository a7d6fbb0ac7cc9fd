// SPDX-License-Identifier: MIT
//
// parked_places.h - where coroutines without a known wait stand for long, in the words of one fact.
#pragma once

#include "analyze/report/finding.h"

enum { PARKED_PLACES_BYTES = 1600 };

// "; 2 in A FILE:LINE <- B FILE:LINE for 5.6 s, 1 in ...", the longest first, three at most; "" if nobody is
// parked for a second, or nothing is known of where. After accounting_count. 0 or -ENOMEM.
int parked_places_text(struct report *r, char *buf, size_t bytes);

// SPDX-License-Identifier: MIT
//
// flight.h - P4 and P5: whether an event may have been delivered, and not handled yet.
#pragma once

#include "engine/inspect/inspect.h"

void flight_judge(struct inspection *l);
// The same from the tables alone, after the program has ended.
void flight_tables(const struct ctp_region *r, struct suspect *s);

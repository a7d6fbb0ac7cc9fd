// SPDX-License-Identifier: MIT
//
// healthy.h - how many coroutines wait on live descriptors or are parked, and are in no finding.
#pragma once

#include "analyze/report/finding.h"

// Counts r->healthy and r->parked. 0 or -ENOMEM.
int healthy_count(struct report *r);

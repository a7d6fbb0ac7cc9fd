// SPDX-License-Identifier: MIT
//
// taken.h - facts on coroutines for whose descriptor something came that another read (CTP009).
#pragma once

#include "analyze/report/finding.h"

// Of those that no finding is about. 0 or -errno.
int taken_facts(struct report *r);

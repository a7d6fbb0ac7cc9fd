// SPDX-License-Identifier: MIT
//
// parked_unspoken.h - coroutines that wait to read what was never written, in a program that sleeps for good
// (CTP003).
#pragma once

#include "analyze/case/pass.h"

// A fact.
int parked_unspoken(const struct pass *pass, const struct image *m, struct results *out);

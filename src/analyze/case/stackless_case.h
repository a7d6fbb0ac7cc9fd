// SPDX-License-Identifier: MIT
//
// stackless_case.h - a C++20 coroutine that the engine found as a case, for the passes that speak of them.
#pragma once

#include "analyze/case/pass.h"

// Fills in what the evidence holds, and the verdict.
void stackless_case(struct verdict_case *c, const struct pass *pass, const struct world *w,
		    const struct image *m, const struct stackless_seen *s, struct results *out);
// Whether the last inspection of this image counts.
bool stackless_counts(const struct image *m);

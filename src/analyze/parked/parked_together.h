// SPDX-License-Identifier: MIT
//
// parked_together.h - all users of a lock or a pool are parked at its place (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, which coroutines have a case already; more are marked. 0 or -errno.
int parked_together(const struct pass *pass, const struct world *w,
		    const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

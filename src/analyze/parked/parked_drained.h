// SPDX-License-Identifier: MIT
//
// parked_drained.h - coroutines that wait for a permit or a place in a pool, while those that had them have
// ended (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, which coroutines have a case already; more are marked. 0 or -errno.
int parked_drained(const struct pass *pass, const struct world *w,
		   const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

// SPDX-License-Identifier: MIT
//
// parked_behind.h - coroutines that came to a place together with others; the others were resumed long ago
// (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, which coroutines have a case already; more are marked. 0 or -errno.
int parked_behind(const struct pass *pass, const struct world *w,
		  const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

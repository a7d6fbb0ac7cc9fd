// SPDX-License-Identifier: MIT
//
// parked_filled.h - coroutines that wait beside a queue which has filled, and was empty whenever they waited
// before (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, which coroutines have a case already; more are marked. 0 or -errno.
int parked_filled(const struct pass *pass, const struct world *w, const struct image *m,
		  const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

// SPDX-License-Identifier: MIT
//
// parked_filled.h - of those that are parked, those who wait while a queue has filled that was empty whenever
// they waited before (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, who is spoken of already; it is added to. 0 or -errno.
int parked_filled(const struct pass *pass, const struct world *w, const struct image *m,
		  const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

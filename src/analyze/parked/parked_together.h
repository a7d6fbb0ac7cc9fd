// SPDX-License-Identifier: MIT
//
// parked_together.h - of those that are parked, the users of a lock or a pool who all wait there now
// (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, who is spoken of already; it is added to. 0 or -errno.
int parked_together(const struct pass *pass, const struct world *w,
		    const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

// SPDX-License-Identifier: MIT
//
// parked_unanswered.h - CTP003 of coroutines that have read a request and not answered it, and are parked.
#pragma once

#include "analyze/parked/parked_history.h"

// told: by row of stations, who is spoken of already; more are then. 0 or -errno.
int parked_unanswered(const struct pass *pass, const struct world *w,
		      const struct parked_history v[PARKED_PLACINGS], unsigned char *told,
		      struct results *out);

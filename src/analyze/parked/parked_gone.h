// SPDX-License-Identifier: MIT
//
// parked_gone.h - CTP003 of coroutines with a client, whom one other resumed each time, which has ended.
#pragma once

#include "analyze/parked/parked_history.h"

// told: by row of stations, who is spoken of already; more are then. 0 or -errno.
int parked_gone(const struct pass *pass, const struct world *w,
		const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

// SPDX-License-Identifier: MIT
//
// parked_drained.h - of those that are parked, those who wait for what others had that have ended (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, who is spoken of already; it is added to. 0 or -errno.
int parked_drained(const struct pass *pass, const struct world *w,
		   const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

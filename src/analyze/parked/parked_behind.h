// SPDX-License-Identifier: MIT
//
// parked_behind.h - of those that are parked, those that came with others who were resumed long ago (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, who is spoken of already; it is added to. 0 or -errno.
int parked_behind(const struct pass *pass, const struct world *w,
		  const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

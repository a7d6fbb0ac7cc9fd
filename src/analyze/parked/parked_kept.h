// SPDX-License-Identifier: MIT
//
// parked_kept.h - of those that are parked, those who wait for what nobody who lives can be seen to have
// (CTP003).
#pragma once

#include "analyze/parked/parked_history.h"
#include "analyze/case/pass.h"

// told: by row of stations, who is spoken of already; it is added to. 0 or -errno.
int parked_kept(const struct pass *pass, const struct world *w,
		const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out);

// SPDX-License-Identifier: MIT
//
// parked_rhythm.h - of coroutines that are parked, those that were resumed in a rhythm, and are not any more,
// while others like them go on (CTP003).
#pragma once

#include "analyze/case/pass.h"

// Reads the history, if the tables have any who may be such. told: by row of stations, who is spoken of
// already; it is added to. 0 or -errno.
int parked_rhythm(const struct pass *pass, const struct world *w, const struct image *m, unsigned char *told,
		  struct results *out);

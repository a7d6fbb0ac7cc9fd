// SPDX-License-Identifier: MIT
//
// parked_rhythm.h - coroutines that were resumed in a rhythm and are not any more, while others like them go
// on (CTP003).
#pragma once

#include "analyze/case/pass.h"

// Reads the history, if the tables have candidates. told: by row of stations, which coroutines have a case
// already; more are marked. 0 or -errno.
int parked_rhythm(const struct pass *pass, const struct world *w, const struct image *m, unsigned char *told,
		  struct results *out);

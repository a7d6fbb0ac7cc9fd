// SPDX-License-Identifier: MIT
//
// parked_unanswered.h - CTP003 of coroutines that have read a request and not answered it, and are parked.
#pragma once

#include "analyze/parked/parked_history.h"

// told: by row of stations, who is spoken of already; more are then. 0 or -errno.
int parked_unanswered(const struct pass *pass, const struct world *w,
		      const struct parked_history v[PARKED_PLACINGS], unsigned char *told,
		      struct results *out);

// Is the descriptor of this row a connection that was accepted, and is open?
bool parked_unanswered_accepted(const struct image *m, size_t row);
// Who read it; where a handler on the native stack did so (Asio), whom its events resume, or who has written
// to it before.
uint64_t parked_unanswered_reader(const struct image *m, const struct ctp_fd *f);

// SPDX-License-Identifier: MIT
//
// parked_resting.h - CTP003 in a program that sleeps for good while main waits for no coroutine.
#pragma once

#include "analyze/case/pass.h"

// ended: by stack, how many stood there and have ended (parked_ended.h); NULL: that is not known.
int parked_resting_add(const struct pass *pass, const struct world *w, const struct image *m,
		       const struct ctp_state *s, const uint32_t *ended, struct results *out);
// Facts on the others, where it is known at what they are queued. is: by row, who is spoken of already.
int parked_resting_tell(const struct pass *pass, const struct world *w, const struct image *m,
			const unsigned char *is, struct results *out);

// SPDX-License-Identifier: MIT
//
// The loops of a library, which is linked or opened: PLACE.
#include "events_off.h"

C_NAMES
LOOP CAT(bare_, PLACE)(long n)
{
	long i = 0;
	while (i < n) {
		KEEP(i);
		i++;
	}
}

LOOP CAT(event_, PLACE)(long n)
{
	long i = 0;
	while (i < n) {
		KEEP(i);
		ctp_event(off, pair, n, i);
		i++;
	}
}
C_NAMES_END

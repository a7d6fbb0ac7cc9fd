// SPDX-License-Identifier: MIT
//
// Checks cost a twentieth of a CPU at most.
#include "engine/stackless/hunt.h"

#define MS 1000000ULL
enum { MISSED = 3, HUNT_MS = 80, CUT_MS = 400, HUNTS_MS = 500, SHARE = 20 };

bool hunt_rests(struct hunt *h, bool still, bool cut, uint64_t used_ns, uint64_t now_ns)
{
	h->used_ns += used_ns;
	if (!h->end_ns) {
		h->missed = still ? 0 : h->missed + 1;
		bool begins = now_ns >= h->again_ns && (h->missed >= MISSED || (still && cut));
		if (begins)
			*h = (struct hunt){.end_ns = now_ns + (still ? CUT_MS : HUNT_MS) * MS};
		return still && !begins;
	}
	h->ran |= !still;
	bool caught = still && h->ran;
	if (!caught && now_ns < h->end_ns)
		return false;
	uint64_t pause = SHARE * h->used_ns;
	*h = (struct hunt){.again_ns = now_ns + (pause > HUNTS_MS * MS ? pause : HUNTS_MS * MS)};
	return caught;
}

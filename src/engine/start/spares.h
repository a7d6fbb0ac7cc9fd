// SPDX-License-Identifier: MIT
//
// spares.h - regions made for children that do not exist yet (ctp_ext.spare).
#pragma once

#include <sys/types.h>

#include "engine/start/shm.h"

struct spare {
	bool ready;
	struct shm shm;
	int ids;           // its block of ids (ids.h)
	uint64_t used;     // of those, how many were given out when it was made
	uint64_t taken_ns; // when a child was first seen to take it; 0: none has
};

// Offers it in *word. Its region and its ids are set.
void spares_offer(struct spare *sp, uint64_t *word);
// The child that has mapped it, which is the caller's from then on; 0: none. Takes it back from a child that
// died, or took too long, before it had mapped it. To be called often.
pid_t spares_taken(struct spare *sp, uint64_t *word);
// Has a child taken one that is not followed yet?
bool spares_any_taken(const struct spare spares[CTP_SPARES], const uint64_t words[CTP_SPARES]);
// Forgets all of them.
void spares_deinit(struct spare spares[CTP_SPARES]);

// SPDX-License-Identifier: MIT
//
// obligations.h - P0 to P7 of one coroutine and one descriptor that ended,
// and the verdict that follows from them.
#pragma once

#include "trace/world.h"

enum verdict {
	VERDICT_NONE, VERDICT_INCONCLUSIVE, VERDICT_SUSPECT, VERDICT_LIKELY, VERDICT_PROVEN,
};
// What may not be missing where a verdict says that nothing was missed (P0).
#define OBLIGATIONS_GAPS (CTP_GAP_STATIONS | CTP_GAP_CANDS | CTP_GAP_FDS | CTP_GAP_THREADS | \
			  CTP_GAP_URING | CTP_GAP_MEMORY | CTP_GAP_BLIND)
extern const char *const verdict_words[]; // lower case, by verdict

// What is judged. `wait` is NULL if its last slice left none, `witness` if nobody looked.
struct suspect {
	const struct world *world;
	const struct image *image;
	const struct ctp_state *state;
	const struct ctp_cand *cand;
	const struct ctp_wait *wait;
	const struct witness *witness;
};

struct obligation {
	enum holds holds;
	const char *text;
};

struct obligations {
	struct obligation items[PROOFS];
	const char *closure;  // "unreachable", "quiet" or NULL
	const char *also_open; // a way that the tables know of, or NULL
	bool queued;          // an event woke it, and its turn had not come at the last look
	bool by_hand;         // the program has resumed such a waiter before
	bool weak;            // it said EAGAIN; that the registration is its own is not known
	enum verdict verdict;
};

void obligations_decide(struct obligations *o, const struct suspect *s);

// SPDX-License-Identifier: MIT
//
// parked_case.h - what the findings on parked coroutines have in common (CTP003).
#pragma once

#include "analyze/case/pass.h"
#include "analyze/parked/parked_history.h"

// What a rule says of its own.
struct parked_words {
	const char *message; // what speaks for it; the report shows it behind the time that it waits
	const char *chance;  // P5
	const char *claim, *refuted, *fix;
};

// Adds a finding of s, of *m: SUSPECT. 0 or -ENOMEM.
int parked_case_add(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_state *s, const struct parked_words *words, struct results *out);
// P5 of a place: others were resumed, or the loop has gone on, `since` something.
const char *parked_case_chance(const struct parked_spot *p, const char *since, struct results *out);

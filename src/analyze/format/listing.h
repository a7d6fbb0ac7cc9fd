// SPDX-License-Identifier: MIT
//
// listing.h - all coroutines of a core file, in groups. Those that ran come first.
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "analyze/report/finding.h"

// Coroutines of one image that are the same to a reader: by state, and the stack they left from.
struct listing_group {
	const struct image *image;
	const struct ctp_state *oldest;
	uint32_t stack;
	size_t n;
};
struct listing {
	struct listing_group *items; // those that run, that wait (the longest first), that never ran
	size_t n, capacity;
};
int listing_collect(struct listing *l, const struct report *r); // 0 or -ENOMEM
void listing_deinit(struct listing *l);
void listing_text(FILE *to, const struct report *r);
json_t *listing_json(const struct report *r);

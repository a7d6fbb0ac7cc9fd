// SPDX-License-Identifier: MIT
//
// findings.h - what the witness has decided about one process image: a line for each group, and how many
// groups there are. ctp-analyze has the last word.
#pragma once

#include "engine/session/places.h"
#include "engine/witness/witness.h"

struct findings_group {
	unsigned rule;
	char place[PLACES_TEXT];
};

struct findings {
	struct places places;
	const struct witness *witness;
	struct findings_group *told;
	size_t ntold, room;
	uint64_t again_ns; // not looked at before
	uint64_t ripe_ns;  // when something was decided that has not been told; 0: nothing is
};

void findings_init(struct findings *f, const struct ctp_region *r, pid_t pid, const struct witness *w);
void findings_deinit(struct findings *f);
// At every turn of the loop, after the witness's. Cheap when nothing is decided.
void findings_poll(struct findings *f, uint64_t now_ns);
// How many groups stand by now.
unsigned findings_standing(const struct findings *f);

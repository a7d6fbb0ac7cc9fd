// SPDX-License-Identifier: MIT
//
// group_by.h - by which property coroutines are listed as one group (--group-by).
#pragma once

#include "analyze/report/finding.h"

// The same for all that belong together. site: what the caller tells sites apart by.
uint64_t group_by_key(const struct report *r, const struct image *m, const struct ctp_state *s,
		      uint64_t site);
// "created by coroutine 7 acceptor", "conn 41", "conn_reader"; "" where groups are sites. buf holds it.
const char *group_by_label(const struct report *r, const struct image *m, const struct ctp_state *s,
			   char *buf, size_t bytes);

// The coroutines of one finding, the largest group first; none where groups are sites.
struct group_by_part {
	const struct verdict_case *first;
	uint64_t key;
	size_t n;
};
int group_by_parts(const struct report *r, const struct finding *f, struct group_by_part **out,
		   size_t *n); // 0 or -ENOMEM

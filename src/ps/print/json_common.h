// SPDX-License-Identifier: MIT
//
// json_common.h - JSON text that many coroutines share, made once for all of them.
#pragma once

#include <jansson.h>

#include "base/idmap.h"
#include "ps/model/report.h"

struct json_common_one {
	uint64_t function, runs; // runs: the id of one that runs, which has a label of its own
	uint32_t creator_stack, recorded, shown;
	char *entry, *created_at, *label, *stack; // as JSON
};

struct json_common { // zeroed: empty
	struct idmap by_hash;
	struct json_common_one **v;
	size_t n, capacity;
};

// `shown`: the stack that is reported of it, 0 for none. NULL without memory.
const struct json_common_one *json_common_get(struct json_common *m, const struct report *r,
					      const struct coroutine *c, uint32_t shown);
void json_common_deinit(struct json_common *m);
json_t *json_common_stack(const struct report *r, uint32_t number); // its frames, or null

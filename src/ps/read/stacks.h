// SPDX-License-Identifier: MIT
//
// stacks.h - the stacks of suspended coroutines: as recorded when they were suspended, and as
// they are in memory now.
#pragma once

#include "ps/read/find.h"
#include "ps/read/groups.h"
#include "symbols/symbols.h"

struct stacks; // each stack once, by number; 0 is none

struct stacks_one {
	const uint64_t *pcs; // return addresses, innermost first
	uint32_t n, flags;   // CTP_STACK_*
};

int stacks_new(struct stacks **out, const struct found *f); // 0 or -ENOMEM
void stacks_free(struct stacks *s);
// The number of a recorded stack, by its id in the region: 0 if there is none, -errno.
int stacks_recorded(struct stacks *s, uint32_t id, uint32_t *out);
// A coroutine whose stack shall be walked, and its number, which stays as it is if the coroutine went on
// meanwhile, shares its stack, cannot be read, or if the walk tells less than what was recorded.
struct stacks_job {
	const struct coroutine *c;
	uint32_t *number;
};
int stacks_live(struct stacks *s, const struct stacks_job *jobs, size_t n); // 0 or -errno
// The stack that these registers lead to, within lo and hi (0, 0: not known), as its number; *out 0: it
// cannot be walked. Whether they were still true afterwards is for the caller to check. 0 or -errno.
int stacks_walk(struct stacks *s, const struct ctp_state *from, uint32_t *out);
struct stacks_one stacks_get(const struct stacks *s, uint32_t number);
// Is there an interpreter whose functions are part of stacks (PHP)? Then only a walk tells them.
bool stacks_have_scripts(struct stacks *s);
// Does that return address stand for a function of a script? Its frame lives as long as the stacks.
const struct symbols_frame *stacks_script(const struct stacks *s, uint64_t pc);

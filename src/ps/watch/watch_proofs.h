// SPDX-License-Identifier: MIT
//
// watch_proofs.h - waits that nothing will end: descriptors that were closed under a
// coroutine, from the region; and what ctp-run has found out about them since, from its trace.
#pragma once

#include "base/idmap.h"
#include "ps/read/find.h"
#include "ps/read/proofs.h"
#include "ps/watch/watch_model.h"

struct watch_proofs;

int watch_proofs_new(struct watch_proofs **out, const struct found *f); // 0 or -ENOMEM
void watch_proofs_free(struct watch_proofs *p);
// Reads what has come in addition. 0 or -errno.
int watch_proofs_read(struct watch_proofs *p);
const struct proofs *watch_proofs_found(const struct watch_proofs *p); // what ctp-run has found out
// A close of a descriptor for which somebody waited.
struct watch_ended {
	uint64_t ns, closer; // when the call had returned; the closer's id, 0 = not known
	uint32_t stack;      // recorded
};
// Of a descriptor, or NULL: it is open, or ctp-run has put the record away.
const struct watch_ended *watch_proofs_ended(const struct watch_proofs *p, int32_t fd, uint32_t gen);

struct watch_count {
	char rule[8];
	size_t n, shown; // coroutines
};
// Goes through the model's rows: sets `closed` and `finding`, and counts what stands by rule, at most `max`
// of them. Returns how many.
size_t watch_proofs_mark(struct watch_proofs *p, struct watch_model *m, uint32_t cands,
			 struct watch_count *out, size_t max);

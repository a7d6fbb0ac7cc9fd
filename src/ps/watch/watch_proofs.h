// SPDX-License-Identifier: MIT
//
// watch_proofs.h - waits that nothing will end: descriptors that were closed under a
// coroutine, from the region; and what ctp-run has found out about them since, from its trace.
#pragma once

#include "base/idmap.h"
#include "ps/read/find.h"
#include "ps/watch/watch_model.h"

struct watch_proof {
	uint64_t coroutine, changes, ns; // it counts while the coroutine has made no more changes
	uint32_t older;                  // the one before it of the same coroutine, or IDMAP_NONE
	char rule[8];                    // "CTP001"
	char what[128];                  // "fd 12#1 (tcp 127.0.0.1:80)"
	char *lines;                     // the evidence, a line for each item: '+', '-' or '?', then its text
	bool shown;                      // all of it holds that an inspection can show
};

struct watch_proofs;

int watch_proofs_new(struct watch_proofs **out, const struct found *f); // 0 or -ENOMEM
void watch_proofs_free(struct watch_proofs *p);
// Reads what has come in addition. 0 or -errno.
int watch_proofs_read(struct watch_proofs *p);
// Is there a trace to be read at all?
bool watch_proofs_any(const struct watch_proofs *p);
// A close of a descriptor for which somebody waited.
struct watch_ended {
	uint64_t ns, closer; // when the call had returned; the closer's id, 0 = not known
	uint32_t stack;      // recorded
};
// Of a descriptor, or NULL: it is open, or ctp-run has put the record away.
const struct watch_ended *watch_proofs_ended(const struct watch_proofs *p, int32_t fd, uint32_t gen);
// The last of a coroutine that stands so, or NULL.
const struct watch_proof *watch_proofs_of(const struct watch_proofs *p, uint64_t coroutine, uint64_t changes);

struct watch_count {
	char rule[8];
	size_t n, shown; // coroutines
};
// Goes through the model's rows: sets `closed` and `finding`, and counts what stands by rule, at most `max`
// of them. Returns how many.
size_t watch_proofs_mark(struct watch_proofs *p, struct watch_model *m, uint32_t cands,
			 struct watch_count *out, size_t max);

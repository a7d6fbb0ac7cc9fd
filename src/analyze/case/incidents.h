// SPDX-License-Identifier: MIT
//
// incidents.h - shared by the passes of incidents (struct ctp_incident).
#pragma once

#include "analyze/case/pass.h"

typedef int incidents_fn(const struct pass *pass, const struct world *w, const struct image *m,
			 const struct ctp_incident *i, struct results *out);
// Calls fn for each incident of the rule. Where nothing ever switched there is none.
int incidents_each(const struct pass *pass, const struct world *w, unsigned rule, incidents_fn *fn,
		   struct results *out);

// What can be said at most of a switch into what runs already or lives no more: PROVEN where
// nothing was missed and the target's identity stands on both its save slot and its stack.
enum verdict incidents_late(const struct world *w, const struct image *m, const struct ctp_incident *i);
// The coroutine `id`, if it is one and its station still tells; else NULL.
const struct ctp_state *incidents_coroutine(const struct image *m, uint64_t id);
// Who opened fd#gen, as far as the table still says.
void incidents_opener(struct verdict_case *c, const struct image *m, struct results *f);
// "coroutine 12", "native stack 3", "a native stack"
const char *incidents_who(const struct image *m, uint64_t id, struct results *f);
// How often: "", or " (7 times)"
const char *incidents_times(const struct ctp_incident *i, struct results *f);

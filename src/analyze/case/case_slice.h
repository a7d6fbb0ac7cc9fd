// SPDX-License-Identifier: MIT
//
// case_slice.h - makes cases of what ctp-run sampled (trace/looks/slices.h).
#pragma once

#include "analyze/case/pass.h"

// One that the passes of CTP016 to CTP020 share. The verdict is the caller's to set; `seen` is
// what the engine saw, for the evidence.
void case_slice_make(struct verdict_case *c, const struct pass *pass, const struct world *w,
		     const struct image *m, const struct slices_item *i, const char *seen);
// Calls `each` for every item of a rule, in images that can be judged. 0 or what it returned.
typedef int case_slice_fn(const struct pass *pass, const struct world *w, const struct image *m,
			  const struct slices_item *i, struct results *out);
int case_slice_each(const struct pass *pass, unsigned rule, const struct world *w, struct results *out,
		    case_slice_fn *each);
// "; 3 coroutines waited for this loop meanwhile", or for one that others served, too.
const char *case_slice_others(const struct slices_item *i, struct results *f);
// "journal+0x8 (0x5560983861a0)", or the address alone.
const char *case_slice_lock(const struct slices_item *i, struct results *f);
// "300.0 ms", as a text of f.
const char *case_slice_span(uint64_t ns, struct results *f);

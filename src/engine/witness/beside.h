// SPDX-License-Identifier: MIT
//
// beside.h - other descriptors that lead to a suspect. Such a one weakens P2, and is named as the way that
// is left; it does not refute that the coroutine lost its event of F. A proxy keeps its client registered
// while it waits for its backend. What a coroutine learned from another descriptor counts only if it is
// suspended where that one woke it: the callers see to that.
#pragma once

#include "ctp/wait_inference.h"
#include "engine/inspect/inspect.h"

// May the coroutine wait for F where it is suspended?
static inline bool beside_there(const struct ctp_fd *f, const struct ctp_state *c)
{
	return ctp_stands_there(f, c) || ctp_stands_as_first(f, c);
}

// An event of the open fd#gen would resume the suspect, or resume it elsewhere. there: it may wait for that
// one here, as it waits for F. P2 becomes undecided where it holds, and says so: "fd %d#%u is %s, and %s".
static inline void beside_note(struct inspection *l, struct suspect *s, int fd, uint32_t gen, bool there,
			       const char *is, const char *how)
{
	struct inspect_answer *p2 = &s->a[PROOF_P2];
	if (s->beside.is == BESIDE_NONE || (there && s->beside.is == BESIDE_AWAY))
		s->beside = (struct beside){there ? BESIDE_THERE : BESIDE_AWAY, fd, gen};
	if (p2->holds == HOLDS_TRUE)
		inspect_say(p2, HOLDS_OPEN, "fd %d#%u is %s, and %s", fd, gen, is, how);
	inspect_open(l, s->s.id, "an event of fd %d#%u, which is %s", fd, gen, is);
}

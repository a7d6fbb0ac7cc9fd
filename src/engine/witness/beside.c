// SPDX-License-Identifier: MIT
//
// What a coroutine learned from another descriptor counts only if it is suspended where that one woke it: the
// callers see to that.
#include "engine/witness/beside.h"

void beside_note(struct inspection *l, struct suspect *s, int fd, uint32_t gen, bool there, const char *is,
		 const char *how)
{
	struct inspect_answer *p2 = &s->a[PROOF_P2];
	if (s->beside.is == BESIDE_NONE || (there && s->beside.is == BESIDE_AWAY))
		s->beside = (struct beside){there ? BESIDE_THERE : BESIDE_AWAY, fd, gen};
	if (p2->holds == HOLDS_TRUE)
		inspect_say(p2, HOLDS_OPEN, "fd %d#%u is %s, and %s", fd, gen, is, how);
	inspect_open(l, s->s.id, "an event of fd %d#%u, which is %s", fd, gen, is);
}

// SPDX-License-Identifier: MIT
//
// What has been paused and gone on with once, may be so again (CTP_FD_RESTORED). That a pause is over long
// ago follows from how long the loops slept before (witness.slept_long).
#include "analyze/case/pauses.h"

static bool over(const struct suspect *s)
{
	return s->witness && s->witness->slept_long;
}

void pauses_weaken(struct obligations *o, const struct suspect *s, bool always)
{
	if (o->verdict > VERDICT_SUSPECT && !proof_beyond_reach(obligations_held(o)) && !over(s) &&
	    (always || image_pauses(s->image)))
		o->verdict = VERDICT_SUSPECT;
}

// SPDX-License-Identifier: MIT
//
// CTP011, resumed after its end: a switch to the place where a coroutine was last suspended,
// although it had been resumed from there and had ended. A new coroutine on the same stack is
// another generation, and the library never posts it.
#include <inttypes.h>

#include "analyze/case/incidents.h"
#include "base/text.h"

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_incident *i, struct results *out)
{
	struct verdict_case c;
	char span[32];
	uint64_t now = world_ns(w, i->time), since = world_ns(w, i->other_time);
	bool gone = i->flags & CTP_LATE_GONE;
	case_of_incident(&c, pass, w, m, i, NULL);
	c.proof.verdict = gone ? VERDICT_SUSPECT : incidents_late(w, m, i);
	text_duration(span, sizeof(span), now > since ? now - since : 0);
	c.label = "resumed";
	c.doing = results_text(out, "by %s, %s after it %s%s", incidents_who(m, i->value[1], out), span,
			       gone ? "had left without saving itself" : "had returned from its function",
			       incidents_times(i, out));
	c.claim = gone ? "was resumed after it had left for good" : NULL;
	c.message = results_text(out, "%s resumes it", incidents_who(m, i->value[1], out));
	case_event(&c, i->other_time, i->who, gone ? "leaves for good" : "returns");
	case_event(&c, i->time, i->value[1], "resumes it");
	c.refuted = gone ? "it is meant to continue from where it was saved last" :
			   "the program puts back copies of stacks, or enters what returned on purpose";
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return incidents_each(pass, w, RULE_ENDED, consider, out);
}

const struct pass pass_ended = {
	.rule = rules_id[RULE_ENDED],
	.title = "resumed after its end",
	.run = run,
	.claim = "was resumed after its function had returned",
	.fix = "when a coroutine ends, remove it from everything that can resume it (queues, registrations, timers), "
	       "and check in resume whether it has ended",
	.explain =
		"A coroutine has ended, and is resumed once more. Its context still holds the place where it\n"
		"suspended last: control goes there, into frames that have returned.\n"
		"\n"
		"    void fn(void) { step(); swapcontext(&co, &loop); step(); }   // returns through uc_link\n"
		"    ...\n"
		"    swapcontext(&loop, &co);\n"
		"    swapcontext(&loop, &co);\n"
		"    swapcontext(&loop, &co);    // once too often\n"
		"\n"
		"The usual cause is a second wakeup: an event and a timer, or two entries in a queue.\n"
		"\n"
		"PROVEN   it returned from its function, and its stack has not changed since\n"
		"LIKELY   the same, but another coroutine may use its stack by now, or it shares one by copying\n"
		"SUSPECT  it switched away without saving its context: most libraries end coroutines like this, but\n"
		"         some start them again from there\n"
		"\n"
		"Repair: remove all references to a coroutine when it ends, keep a flag `done`, and check it in the\n"
		"one function that resumes.\n"
		"\n"
		"Not reported: a context made anew by getcontext and makecontext; a generator that goes back to a\n"
		"context that it saved by getcontext; a stack whose copy was put back.\n",
};

// SPDX-License-Identifier: MIT
//
// CTP012, switch onto a released stack: the memory at the stack pointer with which a coroutine would
// resume had been released. The library posts it before the jump, as the program may not survive that.
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
	case_of_incident(&c, pass, w, m, i, "released by");
	enum verdict most = incidents_late(w, m, i);
	c.proof.verdict = gone || most < VERDICT_LIKELY ? most : VERDICT_LIKELY;
	text_duration(span, sizeof(span), now > since ? now - since : 0);
	c.label = "entered";
	c.doing = results_text(out, "by %s, %s after its stack was released%s",
			       incidents_who(m, i->value[1], out), span, incidents_times(i, out));
	c.message = results_text(out, "%s enters it, %s had released its stack%s",
				 incidents_who(m, i->value[1], out), incidents_who(m, i->other, out),
				 gone ? ", and nothing is mapped there" : "");
	case_event(&c, i->other_time, i->other, "releases its stack");
	case_event(&c, i->time, i->value[1], "switches to it");
	c.refuted =
		gone ? "the program maps memory there in a handler of the fault" :
		       "the memory was handed out again for this very coroutine, by an allocator of the program's own";
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return incidents_each(pass, w, RULE_RELEASED, consider, out);
}

const struct pass pass_released = {
	.rule = rules_id[RULE_RELEASED],
	.title = "switch onto a released stack",
	.run = run,
	.claim = "was entered on a stack that no longer exists",
	.likely = "was entered on a stack that had been released",
	.suspect = "may have been entered on a stack that had been released",
	.fix = "free a stack only when nothing can switch to its coroutine any more: after it has ended, in the code that resumed it last",
	.explain =
		"A stack was freed or unmapped, and then the program switches to the coroutine on it. After\n"
		"munmap the program dies at once; after free it runs on memory that the allocator may hand out.\n"
		"\n"
		"    void conn_close(struct conn *c)\n"
		"    {\n"
		"        free(c->stack);         // its coroutine is suspended, and still in the run queue\n"
		"    }\n"
		"    ...\n"
		"    swapcontext(&loop, &next->ctx);   // next is that very coroutine\n"
		"\n"
		"PROVEN   the coroutine would continue on that stack, and nothing is mapped there now\n"
		"LIKELY   the memory is still mapped, or mapped again: the allocator may have handed it out\n"
		"\n"
		"Repair: take the coroutine out of every queue, set and timer first; or mark it cancelled, resume it,\n"
		"and let the loop that sees it end release the stack.\n"
		"\n"
		"Not reported: stacks that are trimmed, or mapped again with the same contents; a stack that is freed\n"
		"after its coroutine has ended.\n",
};

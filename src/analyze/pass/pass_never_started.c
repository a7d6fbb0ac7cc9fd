// SPDX-License-Identifier: MIT
//
// CTP014: a C++20 coroutine was made and never started, and nothing leads to it: its memory, and what its
// parameters own, is lost.
#include "analyze/case/stackless_case.h"

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int e = 0;
	for (size_t k = 0; !e && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		for (size_t i = 0; !e && stackless_counts(m) && i < m->stackless.n; i++) {
			const struct stackless_seen *s = &m->stackless.v[i];
			struct verdict_case c;
			if (!s->initial || s->answer != STACKLESS_LOST)
				continue;
			stackless_case(&c, pass, w, m, s, out);
			c.message = "it was made and never resumed, and its handle is kept nowhere";
			e = results_add(out, &c);
		}
	}
	return e;
}

const struct pass pass_never_started = {
	.rule = rules_id[RULE_NEVER_STARTED],
	.title = "coroutine never started",
	.claim = "was never started, and nothing can start it",
	.waits = true,
	.run = run,
	.fix = "await or start the coroutine that the call returns, or let its owner destroy it; mark such functions [[nodiscard]]",
	.explain =
		"    task<void> write_log(std::string line);\n"
		"\n"
		"    handle(request r) {\n"
		"            write_log(r.text);               nobody awaits it: the body never runs\n"
		"    }\n"
		"\n"
		"A coroutine that suspends at its start does nothing until it is awaited or resumed. This one was\n"
		"created, and the last copy of its handle is gone: its body never runs, and its frame with the\n"
		"parameters in it is never freed.\n"
		"\n"
		"It is reported if no pointer to the frame is left in the process: PROVEN if one that was not yet\n"
		"started was found before, or the whole program sleeps for good; LIKELY if not.\n"
		"\n"
		"Not reported: a lazy task or a generator that is kept for later.\n"
		"\n"
		"Repair: await or start what the call returns, or let its owner destroy it; [[nodiscard]] on such\n"
		"functions makes the compiler warn.\n",
};

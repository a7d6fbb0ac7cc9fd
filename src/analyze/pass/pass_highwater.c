// SPDX-License-Identifier: MIT
//
// CTP020: a stack was used nearly to its end. SUSPECT: it was large enough so far.
#include <inttypes.h>

#include "analyze/case/case_slice.h"

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct slices_item *i, struct results *out)
{
	struct verdict_case c;
	uint64_t used = i->size > i->unused ? i->size - i->unused : 0;
	if (pass_overflowed(w, m, i->coroutine))
		return 0;
	case_slice_make(
		&c, pass, w, m, i,
		results_text(out,
			     "the last %" PRIu64 " bytes were never written; the calls shown are what is "
			     "left of the deepest, a guess",
			     i->unused));
	c.proof.verdict = VERDICT_SUSPECT;
	c.label = "used";
	c.doing = results_text(out, "%" PRIu64 " of %" PRIu64 " bytes (%" PRIu64 " %%): %" PRIu64 " left",
			       used, i->size, i->size ? used * 100 / i->size : 0, i->unused);
	c.refuted = "it never goes deeper: not in a signal handler, with other input, or in another build";
	c.message = results_text(out, "%" PRIu64 " of %" PRIu64 " bytes were used", used, i->size);
	if (c.about.state && c.about.state->stack)
		c.actor = (struct case_party){.did = "now",
					      .call = "where it suspended last",
					      .id = i->coroutine,
					      .stack = c.about.state->stack};
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return case_slice_each(pass, RULE_HIGHWATER, w, out, consider);
}

const struct pass pass_highwater = {
	.rule = rules_id[RULE_HIGHWATER],
	.title = "stack nearly overflowed",
	.run = run,
	.claim = "has used its stack nearly to the end",
	.fix = "use a larger stack (it costs address space, not memory) or smaller frames, and put a guard page below it",
	.explain =
		"A coroutine has used its stack nearly to the end. One frame more, a signal handler, or another\n"
		"build of a library, and it writes below the end.\n"
		"\n"
		"    static void walk(const struct node *n)\n"
		"    {\n"
		"            char path[512];\n"
		"            join(path, n);\n"
		"            for (size_t i = 0; i < n->n; i++)\n"
		"                    walk(n->child[i]);     // as deep as the data\n"
		"    }\n"
		"    co_new(walker, root, 16 << 10);\n"
		"\n"
		"ctp reads the stack's pages at the last inspection: the lowest word that is neither zero nor the\n"
		"pattern that the stack was filled with is how far it was used. It is reported if less than a tenth\n"
		"is left, or less than a page (for small stacks: less than a quarter). A pooled stack counts for all\n"
		"coroutines that had it.\n"
		"\n"
		"Repair: a larger stack; large buffers on the heap; a guard page, so that an overflow is a crash at\n"
		"that place.\n"
		"\n"
		"Not reported: stacks on the heap, where other code wrote before; coroutines that have ended; pages\n"
		"that were filled in advance.\n",
};

// SPDX-License-Identifier: MIT
//
// CTP016: one slice took so long that coroutines which waited for the same loop were starved. Its time
// is split by cause; time that others took from it (preemption, a stop) never counts. At most SUSPECT:
// a program may mean to compute.
#include <inttypes.h>

#include "analyze/case/case_slice.h"

static const char *again(const struct slices_item *i, struct results *out)
{
	if (i->count < 2)
		return i->over ? "" : ", and goes on";
	return results_text(out, ", the longest of %" PRIu64 " (%s)", i->count,
			    case_slice_span(i->total_ns, out));
}

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct slices_item *i, struct results *out)
{
	struct verdict_case c;
	case_slice_make(&c, pass, w, m, i,
			results_text(out, "sampled: %s on a CPU, %s ready but not running, %s blocked",
				     case_slice_span(i->cpu_ns, out), case_slice_span(i->delayed_ns, out),
				     case_slice_span(i->blocked_ns, out)));
	c.proof.verdict = VERDICT_SUSPECT;
	c.label = "ran";
	c.fd = -1;
	if (!c.stack)
		c.stack = i->left ? i->left : i->went_on;
	c.doing = results_text(out, "for %s without a switch, %s of it on a CPU%s%s",
			       case_slice_span(i->slice_ns, out), case_slice_span(i->cpu_ns, out),
			       again(i, out), case_slice_others(i, out));
	c.refuted = "the delay does not matter: the others had time, or it happens only once, at the start";
	c.message = results_text(out, "%s in one slice%s", case_slice_span(i->slice_ns, out),
				 case_slice_others(i, out));
	if (i->went_on && c.stack != i->went_on)
		c.actor = (struct case_party){.did = "began in",
					      .call = "where it was resumed",
					      .id = i->coroutine,
					      .stack = i->went_on};
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return case_slice_each(pass, RULE_STARVED, w, out, consider);
}

const struct pass pass_starved = {
	.rule = rules_id[RULE_STARVED],
	.title = "loop starved",
	.run = run,
	.claim = "kept its loop from running the others",
	.fix = "yield in between, or do the work in a thread that runs no coroutines",
	.explain =
		"A coroutine runs for a long time without a switch: meanwhile its thread neither polls nor runs\n"
		"other coroutines.\n"
		"\n"
		"    static void report_worker(void *arg)\n"
		"    {\n"
		"            for (;;) {\n"
		"                    co_read(ep, fd, &request, sizeof(request));\n"
		"                    for (size_t i = 0; i < rows; i++)\n"
		"                            digest(&sum, &table[i]);       // 300 ms: nobody is served\n"
		"                    co_write(ep, fd, &sum, sizeof(sum));\n"
		"            }\n"
		"    }\n"
		"\n"
		"It is reported from 100 ms on, if other coroutines waited for that thread's loop or had not run\n"
		"yet. The stack is what most samples have in common, if the kernel permits samples\n"
		"(perf_event_paranoid); otherwise it is the place of the next switch, and the time was spent between\n"
		"the resume and that place. The kernel says how the time was spent: on a CPU, ready to run while\n"
		"others ran, or blocked.\n"
		"\n"
		"Repair: yield every few thousand rows, or hand the work to a thread of its own.\n"
		"\n"
		"Not reported: time in which others had the CPU, or the program was stopped or debugged; a program\n"
		"without a loop; slices that began and ended between two samples (20 ms apart at most).\n",
};

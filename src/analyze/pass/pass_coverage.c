// SPDX-License-Identifier: MIT
//
// CTP030, coverage incomplete: what bypassed the hooks, or found no place in the tables. A fact:
// it weakens other verdicts and accuses nobody.
#include <inttypes.h>

#include "analyze/case/pass.h"

static int gap(const struct pass *pass, const struct image *m, uint32_t bit, const char *text,
	       struct results *out)
{
	return m->ext.gaps & bit ? results_fact(out, pass->rule, 1, "%s", text) : 0;
}

static int gaps(const struct pass *pass, const struct image *m, struct results *out)
{
	static const struct {
		uint32_t bit;
		const char *text;
	} all[] = {
		{CTP_GAP_STATIONS, "no station was left: some coroutines are not in the tables (ctp-run -n)"},
		{CTP_GAP_CANDS, "the table of closes under waiters was full"},
		{CTP_GAP_FDS, "a descriptor's number was beyond the table"},
		{CTP_GAP_THREADS, "no thread slot was left: some threads were not traced"},
		{CTP_GAP_STACKS, "the stack table was full: some stacks are missing"},
		{CTP_GAP_URING, "io_uring or AIO was set up: waits through it are not seen"},
		{CTP_GAP_BLIND,
		 "a signal handler switched coroutines inside a hook: some switches were not seen"},
		{CTP_GAP_ATTACHED,
		 "ctp-run attached while the program ran: what happened before is not known; who was there "
		 "was found in its memory"},
		{CTP_GAP_OWN_FDS,
		 "a thread has, or had, descriptors of its own (unshare): one number is several files, and "
		 "which one was closed is not known"},
		{CTP_GAP_MEMORY, "the library's memory was used up: some stacks have no coroutine"},
	};
	int r = 0;
	if (m->ext.rings)
		r = results_fact(out, pass->rule, m->ext.rings,
				 "waits through io_uring and AIO are not seen: %u ring%s", m->ext.rings,
				 m->ext.rings == 1 ? "" : "s");
	for (size_t i = 0; !r && i < sizeof(all) / sizeof(*all); i++)
		r = gap(pass, m, all[i].bit, all[i].text, out);
	return r;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int r = 0;
	if (w->counts.unknown)
		r = results_fact(out, pass->rule, w->counts.unknown,
				 "%" PRIu64 " switches to or from stacks "
				 "that could not be named: something switches past the hooks",
				 w->counts.unknown);
	for (size_t i = 0; !r && i < w->manifest.nunseen; i++)
		r = results_fact(out, pass->rule, 1, "%s", w->manifest.unseen[i]);
	for (size_t i = 0; !r && i < w->nimages; i++)
		for (size_t k = 0; !r && k < w->images[i].witness.nran; k++)
			r = results_ran_again(out, w->images[i].witness.ran[k]);
	for (size_t i = 0; !r && i < w->nimages; i++)
		if (w->images[i].has_tables)
			r = gaps(pass, &w->images[i], out);
	return r;
}

const struct pass pass_coverage = {
	.rule = rules_id[RULE_COVERAGE],
	.title = "coverage incomplete",
	.run = run,
	.is_fact = true,
	.explain =
		"ctp did not see everything: the program used calls that ctp does not hook, or a table was full.\n"
		"\n"
		"    my_switch(&a->sp, b->sp);     // assembly of the program's own\n"
		"    syscall(SYS_io_uring_enter);  // completions instead of readiness\n"
		"\n"
		"ctp sees switches by the makecontext family, by Boost.Context's shared library, by longjmp onto\n"
		"another stack, and by functions in a program's own code that it knows (PHP, Ruby, a static\n"
		"Boost.Context ...); and waits by epoll, poll and select. Other switches and waits are not in the\n"
		"trace. ctp weakens the verdicts that would need them: nothing is PROVEN from what was not seen.\n"
		"\n"
		"Each line names one gap: functions that cannot be interposed and were left alone, with the reason;\n"
		"io_uring or AIO in use; a table that was full (ctp-run -n makes room); switches that ctp could not\n"
		"attribute.\n"
		"\n"
		"Repair: link Boost.Context as a shared library, or build the coroutine library with its ucontext\n"
		"back end for the run under ctp.\n"
		"\n"
		"This is not an error of the program.\n",
};

// SPDX-License-Identifier: MIT
//
// CTP017: a coroutine slept in a system call, and its loop with it. LIKELY if others waited for
// a loop that no other thread runs. A call that only waits for a disk is a fact.
#include <inttypes.h>
#include <string.h>

#include "analyze/case/case_slice.h"

static const char *what(const struct slices_item *i, struct results *out)
{
	const char *call = i->call ? i->call : "a system call";
	if (i->fd < 0)
		return call;
	return results_text(out, "%s of fd %d#%u (%s), which lacks O_NONBLOCK", call, i->fd, i->gen,
			    i->fd_kind ? i->fd_kind : "other");
}

// What to do instead of that call; NULL: see the pass.
static const char *instead(const struct slices_item *i)
{
	static const struct {
		const char *in, *fix; // part of the call's name
	} FIXES[] = {
		{"sleep", "let a timer of the loop wake the coroutine: a timerfd, or the wait's own timeout"},
		{"wait4", "leave children to a thread, or wait for a pidfd in the loop"},
		{"waitid", "leave children to a thread, or wait for a pidfd in the loop"},
		{"poll",
		 "register the descriptors in the loop, and let that wait for them; a name look-up belongs in a thread"},
		{"select", "register the descriptors in the loop, and let that wait for them"},
	};
	if (i->fd >= 0)
		return "set O_NONBLOCK on the descriptor, and wait in the loop when a call returns EAGAIN";
	for (size_t k = 0; i->call && k < sizeof(FIXES) / sizeof(*FIXES); k++)
		if (strstr(i->call, FIXES[k].in))
			return FIXES[k].fix;
	return NULL;
}

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct slices_item *i, struct results *out)
{
	struct verdict_case c;
	if (i->disk)
		return results_fact(out, pass->rule, 1,
				    "a coroutine waited for a disk (%s in %s): the loop waited with it",
				    case_slice_span(i->asleep_ns, out), what(i, out));
	case_slice_make(&c, pass, w, m, i,
			results_text(out, "asleep in that call for %s", case_slice_span(i->asleep_ns, out)));
	c.proof.verdict = i->others ? VERDICT_LIKELY : VERDICT_SUSPECT;
	c.label = "blocked";
	if (!c.stack)
		c.stack = i->left ? i->left : i->went_on;
	const char *more = i->count > 1 ? results_text(out, ", the longest of %" PRIu64, i->count) :
			   i->over      ? "" :
					  ", and still is";
	c.doing = results_text(out, "for %s in %s%s%s", case_slice_span(i->slice_ns, out), what(i, out), more,
			       case_slice_others(i, out));
	c.refuted = "what it waits for comes at once outside of this run, or nothing on that loop is urgent";
	c.fix = instead(i);
	c.message = results_text(out, "%s in %s%s", case_slice_span(i->asleep_ns, out), what(i, out),
				 case_slice_others(i, out));
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return case_slice_each(pass, RULE_BLOCKING, w, out, consider);
}

const struct pass pass_blocking = {
	.rule = rules_id[RULE_BLOCKING],
	.title = "blocking call",
	.run = run,
	.claim = "blocked its thread in a system call",
	.fix = "set O_NONBLOCK and wait in the loop; sleep by a timer of the loop; do name look-ups in a thread; wait for children in a thread, or by a pidfd",
	.explain =
		"A coroutine makes a call that puts its whole thread to sleep: a read of a descriptor without\n"
		"O_NONBLOCK, sleep, poll on its own, waitpid, getaddrinfo. Meanwhile no other coroutine of it runs.\n"
		"\n"
		"    static void conn_reader(void *arg)\n"
		"    {\n"
		"            int backend = socket(AF_UNIX, SOCK_STREAM, 0);  // no SOCK_NONBLOCK\n"
		"            connect(backend, addr, len);\n"
		"            for (;;) {\n"
		"                    n = co_read(ep, conn->fd, buf, sizeof(buf));\n"
		"                    write(backend, buf, n);\n"
		"                    n = read(backend, buf, sizeof(buf));    // all connections wait here\n"
		"            }\n"
		"    }\n"
		"\n"
		"LIKELY   two samples, 10 ms apart or more, found the thread asleep in that same call (one sample is\n"
		"         enough for a sleep that asked for as long), and other coroutines waited for a loop that no\n"
		"         other thread runs\n"
		"SUSPECT  another thread runs that loop as well\n"
		"\n"
		"Repair: SOCK_NONBLOCK and the loop's own wait; a timer for a sleep; a thread for calls without a\n"
		"non-blocking form (getaddrinfo, waitpid; for the latter also a pidfd).\n"
		"\n"
		"Not reported: calls on non-blocking descriptors, however long others had the CPU; waits for a disk\n"
		"(counted as a fact); the loop's own wait, on any stack; threads that run no loop; a program that\n"
		"was stopped.\n",
};

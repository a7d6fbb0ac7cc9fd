// SPDX-License-Identifier: MIT
//
// CTP010, resumed while running: a switch into a coroutine that was current on another thread. The
// library saw both at that instant, in the table and not in the history; the pass only judges how
// certain it is which coroutine was resumed.
#include <inttypes.h>

#include "analyze/case/incidents.h"
#include "base/text.h"

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_incident *i, struct results *out)
{
	struct verdict_case c;
	char span[32];
	uint64_t now = world_ns(w, i->time), since = world_ns(w, i->other_time);
	case_of_incident(&c, pass, w, m, i, NULL);
	c.proof.verdict = incidents_late(w, m, i);
	text_duration(span, sizeof(span), now > since ? now - since : 0);
	c.label = "resumed";
	const char *by = incidents_who(m, i->value[1], out);
	const char *where = strstr(by, "thread") ? "" : results_text(out, " on thread %" PRIu64, i->value[3]);
	c.doing = results_text(out, "by %s%s, while thread %" PRIu64 " runs it for %s%s", by, where,
			       i->value[2], span, incidents_times(i, out));
	if (i->other_stack)
		c.actor = (struct case_party){.did = "entered",
					      .call = "where it had suspended last",
					      .id = i->who,
					      .stack = i->other_stack};
	c.message = results_text(out, "%s resumes it%s, and it runs on thread %" PRIu64 " already", by, where,
				 i->value[2]);
	case_event(&c, i->other_time, i->who, results_text(out, "goes on, on thread %" PRIu64, i->value[2]));
	case_event(&c, i->time, i->value[1], results_text(out, "resumes it%s", where));
	c.refuted = results_text(
		out, "thread %" PRIu64 " had left it before, by a switch that ctp did not see", i->value[2]);
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return incidents_each(pass, w, RULE_RUNNING, consider, out);
}

const struct pass pass_running = {
	.rule = rules_id[RULE_RUNNING],
	.title = "resumed while running",
	.run = run,
	.claim = "was resumed on one thread while it ran on another",
	.likely = "was resumed on one thread while another seems to have run it",
	.suspect = "may have been resumed on one thread while another ran it",
	.fix = "put a coroutine into the ready queue only after it has been suspended (after the switch, or under a lock that "
	       "the switch releases), and take each entry once",
	.explain =
		"Two threads run one coroutine, on one stack. Each overwrites the other's frames; the result depends\n"
		"on which returns first.\n"
		"\n"
		"    void wait_for(int fd)\n"
		"    {\n"
		"        ready_when(fd, self);            // an event may come from here on\n"
		"        swapcontext(&self->ctx, &loop);  // another thread enters ctx before it is saved\n"
		"    }\n"
		"\n"
		"The coroutine was put where another thread can take it (a queue, an epoll set, a timer) before its\n"
		"context was saved; or two wakers queued it twice.\n"
		"\n"
		"PROVEN   both threads were seen in it at that instant, and no switch was missed in this run\n"
		"LIKELY   it is a thread's own stack, or shares its stack, or its creation was not seen\n"
		"SUSPECT  switches were missed in this run\n"
		"\n"
		"Repair: queue it after the switch, in the scheduler that it returns to; or hold a lock across the\n"
		"switch; and let an atomic state decide which thread may resume it.\n"
		"\n"
		"Not reported: a coroutine that moves between threads, one after the other; a thread that ended in\n"
		"it.\n",
};

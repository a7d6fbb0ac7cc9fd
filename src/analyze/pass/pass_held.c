// SPDX-License-Identifier: MIT
//
// CTP019: a coroutine was suspended while it held a mutex of threads. LIKELY if a thread is
// blocked on it: the coroutine that could unlock it may need that thread. One that was released in
// the end is SUSPECT, if threads had to wait for it while the coroutine waited for a descriptor. Not
// reported: a lock that the next coroutine unlocks (handed on by design), and one under which another
// coroutine may have been run.
#include <inttypes.h>

#include "analyze/case/case_slice.h"

// Where the one that is blocked for it waits; 0: not known.
static uint32_t wanted_at(const struct image *m, const struct slices_item *i)
{
	for (size_t k = 0; k < m->slices.n; k++) {
		const struct slices_item *w = &m->slices.items[k];
		if (w->rule == RULE_LOCK && w->lock == i->lock && w->coroutine == i->owner && !w->over)
			return w->stack;
	}
	return 0;
}

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct slices_item *i, struct results *out)
{
	struct verdict_case c;
	const char *who =
		i->over        ? "other threads had to wait for it until the coroutine went on" :
		i->blocked_tid ? results_text(out, "thread %" PRIu64 " is blocked for it", i->blocked_tid) :
		i->waited      ? "other threads had to wait for it" :
				 "nobody waits for it now";
	case_slice_make(&c, pass, w, m, i,
			results_text(out, "the lock %s; %s",
				     i->over ? "was held across a wait, and unlocked since" :
					       "is held at the last inspection",
				     who));
	c.proof.verdict = i->others && !i->over ? VERDICT_LIKELY : VERDICT_SUSPECT;
	c.label = i->over ? "waited" : "waiting";
	c.stack = i->left;
	c.doing = results_text(out, "with lock %s locked; %s", case_slice_lock(i, out), who);
	c.refuted = "only threads that run no loop want the lock, and they may wait that long";
	c.message = results_text(out, "lock %s; %s", case_slice_lock(i, out), who);
	if (i->others && !i->over && (i->owner || wanted_at(m, i)))
		c.actor = (struct case_party){.did = "wanted by", .id = i->owner, .stack = wanted_at(m, i)};
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return case_slice_each(pass, RULE_HELD, w, out, consider);
}

const struct pass pass_held = {
	.rule = rules_id[RULE_HELD],
	.title = "mutex held across a suspension",
	.run = run,
	.claim = "was suspended with a mutex locked",
	.fix = "unlock before a call that may suspend, or use a lock of the coroutine library",
	.explain =
		"A coroutine locks a pthread mutex and is suspended before it unlocks it. The next coroutine on that\n"
		"thread that locks it puts the thread to sleep, and with it the only coroutine that could unlock it.\n"
		"\n"
		"    static void session(void *arg)\n"
		"    {\n"
		"            pthread_mutex_lock(&cache.lock);\n"
		"            entry = lookup(&cache, key);\n"
		"            if (!entry)\n"
		"                    entry = co_fetch(key);         // suspends: the loop goes on to others\n"
		"            use(entry);\n"
		"            pthread_mutex_unlock(&cache.lock);     // perhaps on another thread, which is an error\n"
		"    }\n"
		"\n"
		"LIKELY   a thread is blocked on it at the last inspection\n"
		"SUSPECT  the lock is still held then; or threads had to wait for it, and it was unlocked since\n"
		"\n"
		"Repair: unlock before the call that may suspend, and check the state again afterwards; or use the\n"
		"coroutine library's own mutex.\n"
		"\n"
		"Not reported: a lock that another coroutine or the scheduler unlocks (as a scheduler does with its\n"
		"own); one that was unlocked since and that nobody had to wait for.\n",
};

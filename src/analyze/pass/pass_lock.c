// SPDX-License-Identifier: MIT
//
// CTP018: a coroutine slept on a lock, a condition, a semaphore or a thread, and its loop with it.
// SUSPECT: short critical sections are often right, and only the program knows how long one may
// take. Where a coroutine that is suspended on the same thread holds the lock, that is CTP019, too.
#include <inttypes.h>
#include <string.h>

#include "analyze/case/case_slice.h"

enum { LOCK = 1, RELEASED = 3 }; // values of a RULE_HELD incident (spec/cTP.md, 2.6)

// Of the coroutine that was suspended with this lock locked, and still is, if there is one.
static const struct ctp_incident *holder(const struct image *m, uint64_t lock)
{
	for (size_t k = 0; lock && k < m->incidents.n; k++) {
		const struct ctp_incident *i = table_row(&m->incidents, k);
		const struct ctp_state *s = i->ready == CTP_CAND_READY && i->rule == RULE_HELD &&
							    i->value[LOCK] == lock && !i->value[RELEASED] ?
						    image_entity(m, i->who) :
						    NULL;
		if (s && image_suspended(m, s))
			return i;
	}
	return NULL;
}

// What it slept for decides what is said of it. The pass's own words are for a lock.
static void describe_kind(struct verdict_case *c, const char *call)
{
	if (!strcmp(call, "pthread_join")) {
		c->claim = "blocked its thread until another thread ended";
		c->refuted = "that thread takes as long only in this run, or nothing on that loop is urgent";
		c->fix =
			"let the thread tell its end by an eventfd that the loop waits for, and join it then";
	} else if (strstr(call, "cond") || strstr(call, "sem")) {
		c->claim = "blocked its thread until another one signalled it";
		c->refuted = "the signal is that late only in this run, or nothing on that loop is urgent";
		c->fix =
			"wait for an eventfd in the loop and let the other side write to it, or use a condition or channel of "
			"the coroutine library";
	}
}

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct slices_item *i, struct results *out)
{
	struct verdict_case c;
	const char *call = i->call ? i->call : "futex";
	case_slice_make(&c, pass, w, m, i,
			results_text(out, "asleep in a futex for %s", case_slice_span(i->asleep_ns, out)));
	c.proof.verdict = VERDICT_SUSPECT;
	c.label = "blocked";
	if (!c.stack)
		c.stack = i->left ? i->left : i->went_on;
	const char *more = i->count > 1 ? results_text(out, ", the longest of %" PRIu64, i->count) :
			   i->over      ? "" :
					  ", and still is";
	const char *on = i->lock ? results_text(out, " %s", case_slice_lock(i, out)) : "";
	bool own = i->owner_tid && i->owner == i->coroutine; // the thread that sleeps has locked it
	const struct ctp_incident *held = own ? holder(m, i->lock) : NULL;
	const char *by = held         ? results_text(out,
						     ", held by coroutine %" PRIu64 ", suspended on this same thread",
						     held->who) :
			 own          ? ", held by this thread itself" :
			 i->owner_tid ? results_text(out, ", held by thread %" PRIu64, i->owner_tid) :
					"";
	c.doing = results_text(out, "for %s in %s%s%s%s%s", case_slice_span(i->slice_ns, out), call, on, by,
			       more, case_slice_others(i, out));
	c.refuted = "the lock is held that long only in this run, or nothing on that loop is urgent";
	describe_kind(&c, call);
	c.message = results_text(out, "%s in %s%s%s%s", case_slice_span(i->asleep_ns, out), call, on, by,
				 case_slice_others(i, out));
	if (held)
		c.actor = (struct case_party){.did = "held by", .id = held->who, .stack = held->stack};
	else if (i->owner_tid && !own)
		c.actor = (struct case_party){.did = "held by", .id = i->owner, .stack = i->owner_stack};
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return case_slice_each(pass, RULE_LOCK, w, out, consider);
}

const struct pass pass_lock = {
	.rule = rules_id[RULE_LOCK],
	.title = "blocking lock",
	.run = run,
	.claim = "blocked its thread for a lock",
	.fix = "hold the lock for a shorter time, use trylock and yield, or use a lock of the coroutine library",
	.explain =
		"A coroutine waits for a mutex, a condition, a semaphore or another thread by a call that blocks\n"
		"its thread: the whole loop sleeps until the call returns.\n"
		"\n"
		"    static void conn_writer(void *arg)\n"
		"    {\n"
		"            for (;;) {\n"
		"                    n = co_read(ep, conn->fd, buf, sizeof(buf));\n"
		"                    pthread_mutex_lock(&journal.lock);     // the flusher thread holds it for 200 ms\n"
		"                    append(&journal, buf, n);\n"
		"                    pthread_mutex_unlock(&journal.lock);\n"
		"            }\n"
		"    }\n"
		"\n"
		"It is reported from 10 ms on, if other coroutines waited for that loop. The report names the lock\n"
		"and, for a mutex, the thread that held it.\n"
		"\n"
		"Repair: do nothing slow under a lock that coroutines take; use pthread_mutex_trylock and a yield,\n"
		"the coroutine library's own mutex or channel, or an eventfd that a thread writes to.\n"
		"\n"
		"Not reported: locks that are taken at once or nearly so; threads that run no loop.\n",
};

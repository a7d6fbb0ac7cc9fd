// SPDX-License-Identifier: MIT
//
// CTP003: coroutines that are suspended without a known wait (queues, mutexes and pools all look the
// same) are counted (healthy.c). One is a finding only if nothing at all references it and others, or
// itself before, were resumed from where it is suspended; and then at most LIKELY, as it may have been
// discarded on purpose.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/case/stuck.h"
#include "base/text.h"
#include "trace/resumed.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	(void)s;
	return stuck_holds(o, PROOF_P6A) && stuck_holds(o, PROOF_P1) ? VERDICT_LIKELY : VERDICT_NONE;
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	char span[32];
	(void)fd;
	text_duration(span, sizeof(span), case_suspended_ns(c));
	c->doing = results_text(out, "%s for nothing that is known", span);
	c->refuted =
		results_text(out,
			     "coroutine %" PRIu64
			     " was discarded on purpose, or a pointer to it lies outside the process or in "
			     "disguise",
			     c->id);
}

// Do the tables say so? They are all there is where the history was lost.
static bool left_again(const struct image *m, uint32_t stack)
{
	const struct ctp_site *site = stack < m->sites.n ? table_row(&m->sites, stack) : NULL;
	if (site && site->resumed)
		return true;
	for (size_t i = 0; stack && i < m->stations.n; i++)
		if (image_state(m, i)->stack == stack && image_state(m, i)->flags & CTP_STATE_AGAIN)
			return true;
	return false;
}

static int by_stack(const void *a, const void *b)
{
	const struct resumed *x = a, *y = b;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

// The stacks of the cases, each once. How many.
static size_t stacks_of(const struct verdict_case *cases, size_t n, struct resumed *v)
{
	size_t different = 0;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct resumed){.stack = cases[i].stack};
	qsort(v, n, sizeof(*v), by_stack);
	for (size_t i = 0; i < n; i++)
		if (!different || v[different - 1].stack != v[i].stack)
			v[different++] = v[i];
	return different;
}

// Of these cases, those stay that stand where coroutines were resumed before: who
// never was is parked by design, as likely as not. The history is read for what the tables do not say.
static int keep_resumed(const struct world *w, struct results *out, size_t from)
{
	size_t n = out->ncases - from, kept = from;
	struct resumed *v = n ? calloc(n, sizeof(*v)) : NULL;
	if (!v)
		return n ? -ENOMEM : 0;
	const struct image *m = out->cases[from].about.image;
	n = stacks_of(out->cases + from, n, v);
	for (size_t i = 0; i < n; i++)
		v[i].seen = left_again(m, v[i].stack);
	int r = resumed_read(w, m, v, n);
	for (size_t i = from; i < out->ncases; i++) {
		struct resumed key = {.stack = out->cases[i].stack};
		const struct resumed *is = bsearch(&key, v, n, sizeof(*v), by_stack);
		if (is && is->seen)
			out->cases[kept++] = out->cases[i];
	}
	out->ncases = kept;
	free(v);
	return r;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	size_t from = out->ncases;
	int r = stuck_run(pass, w, out, &terms);
	return r ? r : keep_resumed(w, out, from);
}

const struct pass pass_parked = {
	.rule = rules_id[RULE_PARKED],
	.title = "orphan wait",
	.run = run,
	.waits = true,
	.claim = "waits for nothing that is known, and nothing leads to it",
	.fix = "keep whoever waits where it is found again: in the queue that it waits for, until it is resumed or ended",
	.explain =
		"A coroutine is suspended without a known wait: no registration, no read or write that had to wait,\n"
		"no timer. Pools, queues and mutexes look like this in every healthy program: such coroutines are\n"
		"counted as \"parked\", a fact. It is a finding only if nothing in memory leads to the coroutine, and\n"
		"coroutines were resumed from that place before:\n"
		"\n"
		"    list_remove(&queue->waiters, self);      // too early, or twice\n"
		"    swapcontext(&self->ctx, &loop);\n"
		"    ...\n"
		"    c = list_pop(&queue->waiters);           // somebody else, or nobody\n"
		"\n"
		"Nobody can resume it any more; its stack, and all that it holds, is lost.\n"
		"\n"
		"LIKELY   no word in memory, registers or the kernel's hands leads to it. It is never more: a\n"
		"         coroutine may be abandoned on purpose\n"
		"\n"
		"Repair: give it back to whoever waits for it, or end it and free its stack.\n"
		"\n"
		"It is not: a coroutine parked in a pool; one in a queue or behind a mutex; main, which waits for the\n"
		"rest; anything after the exit has begun.\n",
};

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
#include "base/grow.h"
#include "base/text.h"
#include "trace/parked_place.h"
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

// A place where cases are suspended: was a coroutine ever resumed from there?
struct place {
	uint64_t at;
	bool left;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->at < y->at ? -1 : x->at > y->at;
}

// The places of the cases, each once. How many.
static size_t places_of(const struct parked_place *p, const struct verdict_case *cases, size_t n,
			struct place *v)
{
	size_t different = 0;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct place){.at = parked_place(p, cases[i].stack)};
	qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n; i++)
		if (!different || v[different - 1].at != v[i].at)
			v[different++] = v[i];
	return different;
}

// The stacks of places, to be looked for in the history.
struct stacks {
	struct resumed *v;
	size_t n, room;
	bool failed;
};

static void add_stack(void *arg, uint32_t stack)
{
	struct stacks *s = arg;
	if (GROW(s->v, s->n, s->room))
		s->failed = true;
	else
		s->v[s->n++] = (struct resumed){.stack = stack};
}

// What the tables do not say is read from the history.
static int ask_history(const struct world *w, const struct parked_place *p, struct place *v, size_t n)
{
	struct stacks s = {0};
	for (size_t i = 0; i < n; i++)
		if (!v[i].left)
			parked_place_stacks(p, v[i].at, add_stack, &s);
	int r = s.failed ? -ENOMEM : s.n ? resumed_read(w, p->image, s.v, s.n) : 0;
	for (size_t i = 0; i < s.n; i++) {
		struct place key = {.at = parked_place(p, s.v[i].stack)};
		struct place *is = s.v[i].seen ? bsearch(&key, v, n, sizeof(*v), by_place) : NULL;
		if (is)
			is->left = true;
	}
	free(s.v);
	return r;
}

// Of these cases, those stay that stand where coroutines were resumed before: who
// never was is parked by design, as likely as not.
static int keep_resumed(const struct world *w, struct results *out, size_t from)
{
	size_t n = out->ncases - from, kept = from;
	struct place *v = n ? calloc(n, sizeof(*v)) : NULL;
	if (!v)
		return n ? -ENOMEM : 0;
	struct parked_place p = parked_places(out->cases[from].about.image);
	n = places_of(&p, out->cases + from, n, v);
	for (size_t i = 0; i < n; i++)
		v[i].left = parked_place_left(&p, v[i].at);
	int r = ask_history(w, &p, v, n);
	for (size_t i = from; i < out->ncases; i++) {
		struct place key = {.at = parked_place(&p, out->cases[i].stack)};
		const struct place *is = bsearch(&key, v, n, sizeof(*v), by_place);
		if (is && is->left)
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

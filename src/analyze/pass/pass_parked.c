// SPDX-License-Identifier: MIT
//
// CTP003: coroutines that are suspended without a known wait (queues, mutexes and pools all look the
// same) are counted (healthy.c). One is a finding only if nothing at all references it and others, or
// itself before, were resumed from where it is suspended; and then at most LIKELY, as it may have been
// discarded on purpose. Or if the whole program sleeps for good, while main waits for a coroutine: a join
// that never ends. That is LIKELY, too: the program may be meant to be killed so; SUSPECT where they may be
// idle workers (parked_idle.h). Where main sleeps in its own loop, parked_resting.h says which are told;
// where the program goes on, parked_rhythm.h, parked_together.h, parked_behind.h, parked_drained.h,
// parked_kept.h, parked_filled.h and parked_unanswered.h. Of a program that ctp-run attached to, those are
// told that nothing led to then, where others wait for descriptors.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/case/stuck.h"
#include "analyze/parked/parked_behind.h"
#include "analyze/parked/parked_drained.h"
#include "analyze/parked/parked_ended.h"
#include "analyze/parked/parked_filled.h"
#include "analyze/parked/parked_gone.h"
#include "analyze/parked/parked_held.h"
#include "analyze/parked/parked_idle.h"
#include "analyze/parked/parked_kept.h"
#include "analyze/parked/parked_resting.h"
#include "analyze/parked/parked_rhythm.h"
#include "analyze/parked/parked_together.h"
#include "analyze/parked/parked_unanswered.h"
#include "analyze/parked/parked_unspoken.h"
#include "base/grow.h"
#include "base/text.h"
#include "ctp/late.h"
#include "ctp/seed.h"
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
	bool before = c->about.state && ctp_state_is_from_before(c->about.state);
	c->doing = results_text(out, "%s%s for nothing that is known", before ? "at least " : "", span);
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

// ------------------------------------------------------------- main waits for good

static void mark_waits(const struct image *m, const struct set_circle_wait *w, size_t n, unsigned char *is)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t row = idmap_get(&m->by_id, w[i].coroutine);
		if (row != IDMAP_NONE)
			is[row] = 1;
	}
}

// Who is spoken of already: here, or as one of a circle (CTP015). By row of stations. held: those who wait
// for what one holds that has ended, too, though that may be no more than a fact.
static unsigned char *told(const struct image *m, const struct results *out, size_t from, bool held)
{
	const struct set_looks *l = &m->set_looks;
	unsigned char *is = calloc(m->stations.n + 1, 1);
	for (size_t i = from; is && i < out->ncases; i++)
		if (out->cases[i].about.image == m)
			is[idmap_get(&m->by_id, out->cases[i].id)] = 1;
	for (size_t k = 0; is && k < l->ncircles; k++)
		mark_waits(m, &l->waits[l->circles[k].waits], l->circles[k].n, is);
	for (size_t k = 0; is && held && k < l->nheld; k++)
		mark_waits(m, &l->waits[l->held[k].waits], l->held[k].n, is);
	return is;
}

static int add_waiter(const struct pass *pass, const struct world *w, const struct image *m,
		      const struct ctp_state *s, struct results *out)
{
	const struct witness_item *seen = m->set_looks.items;
	struct suspect about = {.world = w, .image = m, .state = s};
	struct verdict_case c;
	case_of_wait(&c, pass, &about, out);
	describe(&c, NULL, out);
	c.proof = (struct obligations){.closure = "quiet",
				       .verdict = seen[PROOF_P5].holds == HOLDS_TRUE && !parked_idle(m) ?
							  VERDICT_LIKELY :
							  VERDICT_SUSPECT};
	for (unsigned p = PROOF_P0; p <= PROOF_P6B; p++)
		if (p == PROOF_P0 || p == PROOF_P5 || p == PROOF_P6B)
			c.proof.items[p] = (struct obligation){seen[p].holds, seen[p].text};
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P3] = (struct obligation){HOLDS_TRUE, "no armed registration leads to it"};
	c.claim = "has no known wait, main waits for a coroutine, and the whole program sleeps";
	c.refuted = "the program is meant to sleep like this until it is killed";
	c.fix = "find what should have resumed it: a lock that was never given back, a notification that came "
		"before the wait, a channel that nobody closed";
	return results_add(out, &c);
}

// Of those that stand where the lost one stood, the others may be well.
static uint32_t *ended_elsewhere(const struct world *w, const struct image *m, const unsigned char *is)
{
	uint32_t *ended = parked_ended(w, m);
	for (size_t i = 0; ended && i < m->stations.n; i++)
		if (is[i] && image_state(m, i)->stack < m->stack_index.n)
			ended[image_state(m, i)->stack] = 0;
	return ended;
}

// Those of a list that are still where they were, each once.
static int add_all(const struct pass *pass, const struct world *w, const struct image *m,
		   const struct set_parked_list *l, unsigned char *is, struct results *out)
{
	uint32_t *ended = l == &m->set_looks.resting && l->n ? ended_elsewhere(w, m, is) : NULL;
	int r = 0;
	for (size_t i = 0; !r && i < l->n; i++) {
		uint32_t row = idmap_get(&m->by_id, l->v[i].coroutine);
		const struct ctp_state *s = row == IDMAP_NONE || is[row] ? NULL :
									   table_row(&m->stations, row);
		if (s && image_suspended(m, s) && s->changes == l->v[i].changes && !image_nwaits(s) &&
		    !image_ran_since(m, s)) {
			size_t before = out->ncases;
			r = l == &m->set_looks.parked ? add_waiter(pass, w, m, s, out) :
							parked_resting_add(pass, w, m, s, ended, out);
			is[row] = out->ncases > before;
		}
	}
	free(ended);
	return r;
}

static int main_waits(const struct pass *pass, const struct world *w, const struct image *m,
		      struct results *out, size_t from)
{
	const struct set_looks *l = &m->set_looks;
	if (!(l->parked.n || l->resting.n) || !l->looked || m->replaced || !m->has_tables || w->counts.hand ||
	    w->counts.reused || l->items[PROOF_P0].holds != HOLDS_TRUE ||
	    l->items[PROOF_P6B].holds != HOLDS_TRUE || !case_complete(w, m))
		return 0;
	unsigned char *is = told(m, out, from, true);
	int r = is ? add_all(pass, w, m, &l->parked, is, out) : -ENOMEM;
	if (!r && !parked_idle(m))
		r = add_all(pass, w, m, &l->resting, is, out);
	if (!r && l->resting.n && !parked_idle(m))
		r = parked_resting_tell(pass, w, m, is, out);
	free(is);
	return r;
}

// --------------------------------------------------- from before ctp-run attached

static bool is_unreached(const struct image *m, const struct ctp_state *s)
{
	return (s->flags & CTP_STATE_UNREACHED) && ctp_state_is_from_before(s) && image_suspended(m, s) &&
	       !image_nwaits(s) && !image_ran_since(m, s);
}

// Does some other coroutine stand there that waits for a descriptor, or did one go on from there?
static bool is_wait_site(const struct image *m, const struct parked_place *p, uint64_t place)
{
	for (size_t i = 0; place && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (image_suspended(m, s) && image_nwaits(s) && parked_place(p, s->stack) == place)
			return true;
	}
	return place && parked_place_left(p, place);
}

static int add_unreached(const struct pass *pass, const struct world *w, const struct image *m,
			 const struct ctp_state *s, struct results *out)
{
	struct suspect about = {.world = w, .image = m, .state = s};
	struct verdict_case c;
	case_of_wait(&c, pass, &about, out);
	describe(&c, NULL, out);
	c.proof = (struct obligations){.closure = "unreachable", .verdict = VERDICT_LIKELY};
	c.proof.items[PROOF_P0] = (struct obligation){
		HOLDS_OPEN, "ctp-run attached while the program ran: what was before is not known"};
	c.proof.items[PROOF_P1] =
		(struct obligation){HOLDS_TRUE, "suspended now: it has not run since the attach"};
	c.proof.items[PROOF_P6A] = (struct obligation){
		HOLDS_TRUE, "nothing led to it at the attach: in two looks, a second apart"};
	c.fix = "see what is left of whoever it waited for: if its descriptor is closed, wake the waiter first, and "
		"close when it has returned";
	return results_add(out, &c);
}

static int from_before(const struct pass *pass, const struct world *w, const struct image *m,
		       struct results *out, size_t from)
{
	if (!(m->ext.gaps & CTP_GAP_ATTACHED) || !m->has_tables)
		return 0;
	struct parked_place p = parked_places(m);
	unsigned char *is = told(m, out, from, true);
	uint64_t last = 0;
	bool waits = false;
	int r = is ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (is[i] || !is_unreached(m, s))
			continue;
		uint64_t place = parked_place(&p, s->stack);
		waits = place == last ? waits : is_wait_site(m, &p, place);
		last = place;
		r = waits ? add_unreached(pass, w, m, s, out) : 0;
	}
	free(is);
	return r;
}

static int of_places(const struct pass *pass, const struct world *w, const struct image *m,
		     struct results *out, size_t from)
{
	struct parked_history v[PARKED_PLACINGS];
	unsigned char *is = told(m, out, from, false);
	int r = is ? parked_history_read(w, m, is, v) : -ENOMEM;
	if (!is)
		return r;
	r = r ? r : parked_filled(pass, w, m, v, is, out);
	r = r ? r : parked_together(pass, w, v, is, out);
	r = r ? r : parked_behind(pass, w, v, is, out);
	r = r ? r : parked_drained(pass, w, v, is, out);
	r = r ? r : parked_kept(pass, w, v, is, out);
	r = r ? r : parked_unanswered(pass, w, v, is, out);
	r = r ? r : parked_gone(pass, w, v, is, out);
	parked_history_deinit(v);
	free(is);
	return r;
}

static int history_of(const struct pass *pass, const struct world *w, const struct image *m,
		      struct results *out, size_t from)
{
	unsigned char *is = told(m, out, from, true);
	int r = is ? parked_rhythm(pass, w, m, is, out) : -ENOMEM;
	free(is);
	return r ? r : of_places(pass, w, m, out, from);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	size_t from = out->ncases;
	int r = stuck_run(pass, w, out, &terms);
	r = r ? r : keep_resumed(w, out, from);
	for (size_t k = 0; !r && k < w->nimages; k++)
		r = parked_held(pass, w, &w->images[k], out, from);
	for (size_t k = 0; !r && k < w->nimages; k++)
		r = main_waits(pass, w, &w->images[k], out, from);
	for (size_t k = 0; !r && k < w->nimages; k++)
		r = from_before(pass, w, &w->images[k], out, from);
	for (size_t k = 0; !r && k < w->nimages; k++)
		r = history_of(pass, w, &w->images[k], out, from);
	for (size_t k = 0; !r && k < w->nimages; k++)
		r = parked_unspoken(pass, &w->images[k], out);
	return r;
}

const struct pass pass_parked = {
	.rule = rules_id[RULE_PARKED],
	.title = "orphan wait",
	.run = run,
	.waits = true,
	.claim = "has no known wait, and nothing references it",
	.fix = "keep each waiter in the queue that it waits for, until it has been resumed or has ended",
	.explain =
		"A coroutine is suspended without a known wait: no registration, no read or write that had to wait,\n"
		"no timer. Coroutines in pools, queues and behind mutexes look like this in every healthy program:\n"
		"the report counts them as \"parked\". It is a finding only if nothing in memory leads to the\n"
		"coroutine, and coroutines were resumed from that place before:\n"
		"\n"
		"    list_remove(&queue->waiters, self);      // too early, or twice\n"
		"    swapcontext(&self->ctx, &loop);\n"
		"    ...\n"
		"    c = list_pop(&queue->waiters);           // somebody else, or nobody\n"
		"\n"
		"Nothing can resume it any more; its stack, and all that it holds, is lost. It is also a finding if\n"
		"the owner of a lock has ended, or main itself waits for a coroutine, and the whole program sleeps:\n"
		"\n"
		"    mutex.lock();  if (failed) return;       // never unlocked: the others wait for ever\n"
		"\n"
		"SUSPECT  one of these holds; idle workers, or a holder that is late, can look the same:\n"
		"         - It is queued at an object that holds the handle of a coroutine that has ended, and the\n"
		"           program is quiet; or that object is a mutex of State Threads.\n"
		"         - Main waits, and the parked ones may be idle workers: events, or a thread, gave them work\n"
		"           before.\n"
		"         - Main waits for none of them, but the program sleeps for good, and others that were\n"
		"           created or suspended at the same place have ended, as workers do not.\n"
		"         - Nothing leads to it, but nothing leads to any other suspended coroutine either: all may\n"
		"           be kept in a form that is not searched for.\n"
		"         - It was resumed in a rhythm, now waits more than ten times as long, and most others that\n"
		"           were created at the same place go on.\n"
		"         - All that use a place wait there, ten times as long as ever, and none was resumed before\n"
		"           unless another of them was elsewhere: as those who share a lock, not as workers.\n"
		"         - It came together with others, which were resumed once, and have ended.\n"
		"         - Two or more wait, others created alike have ended, and none that lives is past this\n"
		"           place. None had to wait there before, or each was resumed within a fiftieth of that\n"
		"           time: a semaphore's permits, or a pool's places, were not given back.\n"
		"         - Two or more wait. Each that was resumed before was so right after one that was past this\n"
		"           place, as a lock's holder is, and none that lives is past it now.\n"
		"         - It has read from a connection and not answered. Others that came later were resumed; or\n"
		"           all others created where it was lived for a tenth of that time at most; or it answered\n"
		"           before, and waits beside others where none or few were ever resumed, or where one\n"
		"           coroutine resumed all that waited by its next turn, and has had its turn.\n"
		"         - It has a client, and the one coroutine that resumed it there has ended.\n"
		"         - Two words in view of it were equal whenever it waited, as the ends of an empty queue,\n"
		"           and now they differ, for longer than it ever waited: what was sent is there, and its\n"
		"           reader is not resumed.\n"
		"LIKELY   no word in memory, in registers or in the kernel's tables leads to it, and words lead to\n"
		"         others; or main waits, no thread can wake by itself, and nothing outside can wake one.\n"
		"         It is never PROVEN: a coroutine may be abandoned on purpose, and a program may sleep until\n"
		"         it is killed\n"
		"\n"
		"Repair: keep it in the queue from which it is resumed, or end it and free its stack.\n"
		"\n"
		"Not reported: a coroutine parked in a pool; one in a queue or behind a mutex; main, which waits for\n"
		"the rest; anything after the exit has begun. A lock whose owner has ended is told as a fact where\n"
		"the program goes on: a channel, too, may remember who wrote last.\n",
};

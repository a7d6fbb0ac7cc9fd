// SPDX-License-Identifier: MIT
//
// CTP015, deadlock cycle: coroutines that wait for each other through pipes, socketpairs and
// eventfds. An edge C -> D means: C is suspended with one known wait, the kernel says that it is
// not ready, no other registration references C, and the one entity that ever wrote to its other
// end (or read from it, if C wants to write) is D. If no third entity ever did, only D can move C.
// A cycle of such edges moves only if the program's own code resumes one of them.
//
// Two idle peers of a full-duplex channel look the same: each waits for the other's next message,
// and a timer or an external event may make one of them send it. So a cycle of readers alone is
// reported only if the program is quiescent (P6b), but for handlers of signals that end it, or if one of them
// has left the other an unread message: then both have asked and wait for the answer. A cycle in which
// somebody waits to write needs neither: nobody is idle before a full queue. cycle_threads.c finds circles
// that go through a thread's end.
#include "analyze/pass/cycle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

// ------------------------------------------------------------- who waits

// Its one wait is what the engine asked about, nothing came since, and nothing else leads to it.
static bool counts(const struct cycle *c, const struct set_queue *q, struct cycle_waiter *w)
{
	const struct image *m = c->image;
	const struct ctp_state *s = image_entity(m, q->coroutine);
	const struct ctp_fd *f = image_fd(m, (int32_t)q->fd);
	if (q->ready || q->led || !s || s->changes != q->changes || s->life != CTP_SUSPENDED ||
	    image_nwaits(s) != 1 || !f || (s->flags & CTP_STATE_MOREWAITS) || s->waits[0].fd != q->fd ||
	    f->gen != q->gen || f->life != CTP_FD_OPEN || f->event_time > s->since || image_ran_since(m, s))
		return false;
	*w = (struct cycle_waiter){.state = s, .queue = q, .fd = f, .on = CYCLE_NOBODY, .next = SIZE_MAX};
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct cycle_waiter *x = a, *y = b;
	return x->state->id < y->state->id ? -1 : x->state->id > y->state->id;
}

static int gather(struct cycle *c)
{
	const struct image *m = c->image;
	c->v = calloc(m->set_looks.nqueues ? m->set_looks.nqueues : 1, sizeof(*c->v));
	c->ends = calloc(m->fds.n ? m->fds.n : 1, sizeof(*c->ends));
	if (!c->v || !c->ends)
		return -ENOMEM;
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (f->life == CTP_FD_OPEN && f->desc)
			c->ends[c->nends++] =
				(struct cycle_end){f->desc, f, (int64_t)table_index(&m->fds, i)};
	}
	cycle_sort_ends(c);
	for (size_t i = 0; i < m->set_looks.nqueues; i++)
		c->n += counts(c, &m->set_looks.queues[i], &c->v[c->n]);
	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_id);
	for (size_t i = 0; i < c->n; i++)
		c->v[i].on = cycle_mover(c, c->v[i].fd, c->v[i].queue->out);
	for (size_t i = 0; i < c->n; i++)
		for (size_t lo = 0, hi = c->n; lo < hi && c->v[i].on != CYCLE_NOBODY;) {
			size_t mid = (lo + hi) / 2;
			if (c->v[mid].state->id == c->v[i].on)
				c->v[i].next = mid;
			if (c->v[mid].state->id < c->v[i].on)
				lo = mid + 1;
			else
				hi = mid;
		}
	return 0;
}

// ------------------------------------------------------------- cycles

static bool member(const struct cycle *c, size_t at, uint64_t id)
{
	size_t i = at;
	do {
		if (c->v[i].state->id == id)
			return true;
		i = c->v[i].next;
	} while (i != at);
	return false;
}

static bool waits_to_write(const struct cycle *c, size_t at)
{
	size_t i = at;
	do {
		if (c->v[i].queue->out)
			return true;
		i = c->v[i].next;
	} while (i != at);
	return false;
}

// Has one of them left another a message that lies unread?
static const struct set_unread *unanswered(const struct cycle *c, size_t at)
{
	const struct set_looks *l = &c->image->set_looks;
	for (size_t i = 0; i < l->nunread; i++) {
		const struct ctp_fd *f = image_fd(c->image, (int32_t)l->unread[i].fd);
		if (!f || f->gen != l->unread[i].gen || !f->peer_desc)
			continue;
		uint64_t from = cycle_user(c, f->peer_desc, true), to = cycle_user(c, f->desc, false);
		if (from != to && from && to && from != CYCLE_NOBODY && to != CYCLE_NOBODY &&
		    member(c, at, from) && member(c, at, to))
			return &l->unread[i];
	}
	return NULL;
}

static const char *chain(const struct cycle *c, size_t at, struct results *out)
{
	const char *text = results_text(out, "co %" PRIu64, c->v[at].state->id);
	size_t i = at;
	do {
		text = c->v[i].next == at ?
			       results_text(out, "%s -> fd %" PRId64 " -> back", text, c->v[i].queue->fd) :
			       results_text(out, "%s -> fd %" PRId64 " -> co %" PRIu64, text,
					    c->v[i].queue->fd, c->v[i].on);
		i = c->v[i].next;
	} while (i != at);
	return text;
}

void cycle_decide(const struct cycle *c, struct obligations *o, const struct set_unread *left, bool asks,
		  struct results *out)
{
	const struct set_looks *l = &c->image->set_looks;
	static const enum proof asked[] = {PROOF_P0, PROOF_P5, PROOF_P6B};
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		o->items[asked[i]] = (struct obligation){l->items[asked[i]].holds, l->items[asked[i]].text};
	bool complete = case_complete(c->world, c->image) && o->items[PROOF_P0].holds == HOLDS_TRUE;
	const struct ctp_ext *e = &c->image->ext;
	bool ending = e->exit_begun || e->signal_taken || e->listener_closed ||
		      image_asked(c->image, &c->world->manifest, l->ns);
	bool quiet = o->items[PROOF_P6B].holds == HOLDS_TRUE,
	     sure = complete && !ending && !c->world->counts.reused;
	if (!complete && o->items[PROOF_P0].holds == HOLDS_TRUE)
		o->items[PROOF_P0] = (struct obligation){HOLDS_OPEN, "some switches or tables were not seen"};
	o->items[PROOF_P1] =
		(struct obligation){c->world->counts.reused ? HOLDS_OPEN : HOLDS_TRUE, "suspended now"};
	o->items[PROOF_P2] = (struct obligation){HOLDS_TRUE, "each has one known wait"};
	o->items[PROOF_P3] = (struct obligation){
		HOLDS_TRUE, left ? results_text(out,
						"none of what they wait for is ready; %" PRId64
						" byte%s unread on fd %" PRId64,
						left->bytes, left->bytes == 1 ? "" : "s", left->fd) :
				   "none of what they wait for is ready"};
	o->closure = quiet ? "quiet" : NULL;
	o->by_hand = c->world->counts.hand > 0;
	if (!quiet && !left && !asks && !l->sleeps)
		o->verdict = VERDICT_NONE; // idle peers
	else if (quiet && sure)
		o->verdict = VERDICT_PROVEN;
	else
		o->verdict = complete && !o->by_hand && o->items[PROOF_P5].holds == HOLDS_TRUE ?
				     VERDICT_LIKELY :
				     VERDICT_SUSPECT;
}

// `as`: whose stack is shown first. The two of a circle of two are told as one finding.
static int report(const struct cycle *c, size_t at, size_t as, const struct obligations *proof,
		  struct results *out)
{
	const struct cycle_waiter *w = &c->v[at], *first = &c->v[as], *on = &c->v[first->next];
	struct verdict_case v;
	struct suspect about = {
		.world = c->world, .image = c->image, .state = w->state, .wait = &w->state->waits[0]};
	case_of_wait(&v, c->pass, &about, out);
	v.stack = image_told_stack(c->image, first->state);
	v.proof = *proof;
	v.refuted =
		proof->closure ?
			NULL :
		c->image->set_looks.sleeps ?
			"the handler of a signal makes one of them continue: nothing else could wake the program" :
			"the program's own code resumes one of them, or a third party sends to one";
	v.doing = results_text(out, "%s: %s", v.doing, chain(c, at, out));
	v.message = results_text(out, "%s", chain(c, at, out));
	v.actor = (struct case_party){
		.did = "waits on", .id = on->state->id, .stack = image_told_stack(c->image, on->state)};
	return results_add(out, &v);
}

// Follows the edges from `at`; where they come back to one met in this walk, a cycle has been found.
static int walk(struct cycle *c, size_t at, unsigned number, struct results *out)
{
	struct obligations proof = {0};
	size_t i = at, begin;
	int r = 0;
	for (; i != SIZE_MAX && !c->v[i].walk; i = c->v[i].next)
		c->v[i].walk = number;
	if (i == SIZE_MAX || c->v[i].walk != number || c->v[i].next == i)
		return 0; // waiting for itself: a signal's handler may have written in its name
	begin = i;
	cycle_decide(c, &proof, unanswered(c, begin), waits_to_write(c, begin), out);
	if (proof.verdict == VERDICT_NONE)
		return 0;
	size_t next = c->v[begin].next, low = c->v[next].state->id < c->v[begin].state->id ? next : begin;
	do {
		r = report(c, i, c->v[next].next == begin ? low : i, &proof, out);
		i = c->v[i].next;
	} while (!r && i != begin);
	return r;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		struct cycle c = {.pass = pass, .world = w, .image = m};
		uint64_t exit = world_ns(w, m->ext.exit_begun), taken = world_ns(w, m->ext.signal_taken),
			 ns = m->set_looks.ns;
		bool ending = (m->ext.exit_begun && exit <= ns) || (m->ext.signal_taken && taken <= ns);
		if (!m->has_tables || m->replaced || !w->has_last_tables || !m->set_looks.looked || ending)
			continue;
		r = gather(&c);
		for (size_t i = 0; !r && i < c.n; i++)
			r = walk(&c, i, (unsigned)i + 1, out);
		if (!r)
			r = cycle_threads(&c, out);
		if (!r)
			r = cycle_locks(&c, out);
		free(c.v);
		free(c.ends);
	}
	return r;
}

const struct pass pass_cycle = {
	.rule = rules_id[RULE_CYCLE],
	.title = "deadlock cycle",
	.run = run,
	.idle = true,
	.claim = "waits in a cycle",
	.fix = "break the cycle: read while you write (both directions of a channel at once), give a request a "
	       "deadline, or take the channels in the same order everywhere",
	.explain =
		"    a:  write(to_b, request);  read(from_b, answer);\n"
		"    b:  write(to_a, request);  read(from_a, answer);     both ask, nobody answers\n"
		"\n"
		"    a:  while (more) write(to_b, ...);                   both pipes are full, nobody reads\n"
		"    b:  while (more) write(to_a, ...);\n"
		"\n"
		"    a:  pthread_join(worker);                            and the worker wants a lock that a holds,\n"
		"                                                         or an answer that only a's thread can give\n"
		"\n"
		"    a:  lock(from);  yield();  lock(to);                 locks between coroutines, which are parked\n"
		"    b:  lock(to);    yield();  lock(from);               at each other's\n"
		"\n"
		"    a:  lock(m);  refuse() { lock(m); ... }              one that waits for itself\n"
		"\n"
		"Each coroutine waits for something that only the next one can do, and the last one waits for the\n"
		"first. The loop sleeps, the descriptors are open, and no event ever comes.\n"
		"\n"
		"PROVEN   as LIKELY, and the whole program sleeps for good: no timer, signal or peer can wake it\n"
		"LIKELY   every thread has slept; only the program's own code could resume one of them. For locks\n"
		"         between coroutines: the program sleeps for good, or nothing else leads to any of them\n"
		"SUSPECT  a thread still runs; for locks: something else leads to them (to\n"
		"         one that waits for itself: and the program is quiet), also in a quiet program if\n"
		"         who waits is in a std::vector, std::deque or std::list beside the owner's handle\n"
		"\n"
		"Repair: read while you write much; give each request a deadline; take locks in one order.\n"
		"\n"
		"Not reported: two idle peers that wait for each other's next message while a timer or a third party\n"
		"can make one of them send; a channel to which a third coroutine has written; a thread that is\n"
		"joined while it works, has a timeout, or waits for something outside the process.\n",
};

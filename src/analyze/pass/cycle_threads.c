// SPDX-License-Identifier: MIT
//
// Circles that go through the end of a thread. A thread that joins another waits for its end. The
// other thread is stuck if it joins too, wants a lock that is held, is in a call on a descriptor,
// or runs a loop, and everybody who could end that is stuck as well. A coroutine is stuck if its
// thread is and no other thread runs it, or if only a stuck entity can move the queue that it
// waits for. What is not known to be stuck is not: a timeout, a descriptor with an external peer,
// one to which another entity or nobody yet has written. Where signals have handlers, what a
// sleeping thread writes to may still move, too.
//
// A worker that waits for its next job from the thread that joins it looks like a fault, and may
// be a server at rest: somebody will close the channel. So a circle without a lock and without a
// full queue needs what pass_cycle.c asks of readers: an unread message from one of them to
// another, or a quiescent program.
#include "analyze/pass/cycle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define NONE SIZE_MAX

struct step {          // of a circle: a thread, or a coroutine that cannot go on
	size_t thread; // place in set_looks.threads; NONE: a coroutine
	uint64_t id;   // of the coroutine, or of who runs on the thread; 0
	int64_t fd;    // by which it waits for the next one; -1: by its thread
};

struct knot {
	const struct cycle *c;
	const struct set_looks *l;
	bool *stuck;      // by thread
	bool *discovered; // by thread: in this walk
	bool *reported;   // by thread
	struct step *steps;
	size_t n, room;
};

// ------------------------------------------------------------- what has come to a stop

static size_t of_slot(const struct knot *k, uint64_t slot)
{
	size_t i = 0;
	while (i < k->l->nthreads && k->l->threads[i].slot != slot)
		i++;
	return i < k->l->nthreads ? i : NONE;
}

static size_t of_tid(const struct knot *k, uint64_t tid)
{
	size_t i = 0;
	while (i < k->l->nthreads && k->l->threads[i].tid != tid)
		i++;
	return i < k->l->nthreads ? i : NONE;
}

static const struct ctp_thread *row_of(const struct knot *k, uint64_t slot)
{
	const struct table *t = &k->c->image->threads;
	for (size_t i = 0; i < t->n; i++)
		if (table_index(t, i) == slot)
			return table_row(t, i);
	return NULL;
}

static uint64_t set_of(const struct knot *k, int64_t epfd)
{
	const struct ctp_fd *f = image_fd(k->c->image, (int32_t)epfd);
	return f ? f->desc : 0;
}

// May that thread's loop resume a coroutine with these waits?
static bool serves(const struct knot *k, const struct set_thread *t, const struct ctp_state *s)
{
	uint64_t own = t->in == SET_LOOP && t->epfd >= 0 ? set_of(k, t->epfd) : 0;
	unsigned n = image_nwaits(s);
	for (unsigned i = 0; own && i < n; i++)
		if (!(s->waits[i].how & CTP_WAIT_REGISTERED) || s->waits[i].epfd < 0 ||
		    !set_of(k, s->waits[i].epfd) || set_of(k, s->waits[i].epfd) == own)
			return true;
	return !own || !n || (s->flags & CTP_STATE_MOREWAITS);
}

// Is there no other thread that runs coroutines and might run this one?
static bool nobody_else(const struct knot *k, const struct ctp_state *s)
{
	const struct table *t = &k->c->image->threads;
	for (size_t i = 0; i < t->n; i++) {
		const struct ctp_thread *row = table_row(t, i);
		if (row->life != CTP_THREAD_LIVE || !row->switches || table_index(t, i) == s->thread)
			continue;
		size_t at = of_slot(k, table_index(t, i));
		if (at == NONE || (!k->stuck[at] && serves(k, &k->l->threads[at], s)))
			return false;
	}
	return true;
}

static const struct cycle_waiter *waiter(const struct cycle *c, uint64_t id)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].state->id == id)
			return &c->v[i];
	return NULL;
}

// The thread by which this one has come to a stop, if it has; NONE. `sends`: does it matter that a handler
// may write in its name?
static size_t held_by(const struct knot *k, uint64_t who, bool sends)
{
	bool unnamed = who != CYCLE_NOBODY && (who & CTP_FD_UNNAMED);
	const struct ctp_state *s = who && who != CYCLE_NOBODY && !unnamed ? image_entity(k->c->image, who) :
									     NULL;
	uint64_t slot = unnamed ? who & ~CTP_FD_UNNAMED : s ? s->thread : UINT64_MAX;
	size_t at = of_slot(k, slot);
	const struct ctp_thread *row = at == NONE ? NULL : row_of(k, slot);
	if (!row || !k->stuck[at] || (unnamed && row->uses))
		return NONE;
	if (unnamed || k->l->threads[at].entity == who || s->entity == CTP_NATIVE)
		return sends && k->l->handlers ? NONE : at;
	return s->life == CTP_SUSPENDED && nobody_else(k, s) ? at : NONE;
}

// The same, or by a chain of coroutines that wait for each other and ends there.
static size_t held(const struct knot *k, uint64_t who, bool sends)
{
	const struct cycle_waiter *w;
	for (size_t i = 0; i <= k->c->n; i++) {
		size_t at = held_by(k, who, sends);
		if (at != NONE || who == CYCLE_NOBODY || !(w = waiter(k->c, who)))
			return at;
		who = w->on;
	}
	return NONE;
}

// Who could end that this descriptor is waited for? Not one, if both of two could.
static uint64_t ender(const struct knot *k, const struct set_end *e, bool out)
{
	const struct ctp_fd *f = image_fd(k->c->image, (int32_t)e->fd);
	return f && f->life == CTP_FD_OPEN && f->gen == e->gen ? cycle_mover(k->c, f, out) : CYCLE_NOBODY;
}

static bool stays(const struct knot *k, const struct set_thread *t)
{
	if (t->in == SET_JOIN || t->in == SET_LOCK) {
		size_t of = of_tid(k, t->of);
		return of != NONE && k->stuck[of];
	}
	if (!t->nends || (t->in == SET_LOOP && !t->all))
		return false;
	for (size_t i = 0; i < t->nends; i++) {
		const struct set_end *e = &k->l->ends[t->ends + i];
		if ((!e->in && !e->out) || (e->in && held(k, ender(k, e, false), true) == NONE) ||
		    (e->out && held(k, ender(k, e, true), true) == NONE))
			return false;
	}
	return true;
}

// Has the loop only been stopped and continued since? Then it has gone back to its wait with nothing in its
// hands.
static bool went_back(const struct ctp_thread *row, const struct set_thread *t)
{
	return t->in == SET_LOOP && t->epfd >= 0 && (row->wait_seq & 1) && row->wait_call == CTP_IN_EPOLL &&
	       row->wait_fd == t->epfd && row->wait_timeout_ns < 0 && row->switches == t->switches &&
	       row->events == t->events;
}

// Begins with all threads that may be stuck, and removes those that are not until nothing changes.
static void find_stuck(struct knot *k)
{
	bool changed = true;
	for (size_t i = 0; i < k->l->nthreads; i++) {
		const struct set_thread *t = &k->l->threads[i];
		const struct ctp_thread *row = row_of(k, t->slot);
		k->stuck[i] = row && row->life == CTP_THREAD_LIVE && row->tid == t->tid &&
			      (row->wait_seq == t->seq || went_back(row, t));
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < k->l->nthreads; i++)
			if (k->stuck[i] && !stays(k, &k->l->threads[i])) {
				k->stuck[i] = false;
				changed = true;
			}
	}
}

// ------------------------------------------------------------- circles

static bool push(struct knot *k, struct step s)
{
	if (k->n == k->room)
		return false;
	k->steps[k->n++] = s;
	return true;
}

// The coroutine of that loop that waits for this; 0: none that is known.
static uint64_t whose(const struct knot *k, const struct set_thread *t, const struct set_end *e, bool out)
{
	const struct ctp_fd *f = image_fd(k->c->image, (int32_t)e->fd);
	const struct ctp_state *s =
		f && f->gen == e->gen ? image_entity(k->c->image, f->waiter[out] & CTP_ID_MASK) : NULL;
	if (!s || s->entity != CTP_COROUTINE || s->life != CTP_SUSPENDED || s->thread != t->slot)
		return 0;
	for (unsigned i = 0; i < image_nwaits(s); i++)
		if (s->waits[i].fd == e->fd && s->waits[i].gen == (uint32_t)e->gen)
			return s->id;
	return 0;
}

static bool leads(struct knot *k, size_t at, size_t to);

// Goes on from whoever could end the wait for `fd`.
static bool leads_by(struct knot *k, uint64_t who, size_t to)
{
	size_t before = k->n, next = held(k, who, true);
	const struct cycle_waiter *w;
	while (next != NONE && held_by(k, who, true) == NONE && (w = waiter(k->c, who)) &&
	       push(k, (struct step){NONE, who, w->queue->fd}))
		who = w->on;
	const struct set_thread *t = next == NONE ? NULL : &k->l->threads[next];
	bool runs = t && ((who & CTP_FD_UNNAMED) || t->entity == who || t->native == who);
	if (t && (runs || push(k, (struct step){NONE, who, -1})) && (next == to || leads(k, next, to)))
		return true;
	k->n = before;
	return false;
}

static bool leads(struct knot *k, size_t at, size_t to)
{
	const struct set_thread *t = &k->l->threads[at];
	if (k->discovered[at] || !push(k, (struct step){at, t->entity, -1}))
		return false;
	k->discovered[at] = true;
	size_t own = k->n - 1, of = t->in == SET_JOIN || t->in == SET_LOCK ? of_tid(k, t->of) : NONE;
	if (of != NONE && (of == to || leads(k, of, to)))
		return true;
	for (size_t i = 0; i < 2 * t->nends; i++) { // each, to read and to write
		const struct set_end *e = &k->l->ends[t->ends + i / 2];
		bool out = i % 2;
		uint64_t by = t->in == SET_LOOP ? whose(k, t, e, out) : 0;
		k->n = own + 1;
		k->steps[own].fd = by ? -1 : e->fd;
		if ((out ? e->out : e->in) && (!by || push(k, (struct step){NONE, by, e->fd})) &&
		    leads_by(k, ender(k, e, out), to))
			return true;
	}
	k->n = own;
	return false;
}

// Does one of them wait for what nobody idle waits for: a lock, a queue that is full, or is all of it joins?
static bool asks(const struct knot *k)
{
	bool reads = false;
	for (size_t i = 0; i < k->n; i++) {
		const struct step *s = &k->steps[i];
		const struct set_thread *t = s->thread == NONE ? NULL : &k->l->threads[s->thread];
		const struct cycle_waiter *w = t || s->fd < 0 ? NULL : waiter(k->c, s->id);
		if ((t && t->in == SET_LOCK) || (t && t->in == SET_IO && k->l->ends[t->ends].out) ||
		    (w && w->queue->out))
			return true;
		reads |= s->fd >= 0;
	}
	return !reads;
}

// A message that one who has come to a stop left another, unread.
static const struct set_unread *unanswered(const struct knot *k)
{
	for (size_t i = 0; i < k->l->nunread; i++) {
		const struct set_unread *u = &k->l->unread[i];
		const struct ctp_fd *f = image_fd(k->c->image, (int32_t)u->fd);
		if (!f || f->gen != u->gen || !f->peer_desc)
			continue;
		uint64_t from = cycle_user(k->c, f->peer_desc, true), to = cycle_user(k->c, f->desc, false);
		if (from && to && from != to && held(k, from, false) != NONE && held(k, to, false) != NONE)
			return u;
	}
	return NULL;
}

// ------------------------------------------------------------- what is reported

static const char *text_of(const struct knot *k, const struct step *s, bool last, struct results *out)
{
	const struct set_thread *t = s->thread == NONE ? NULL : &k->l->threads[s->thread];
	const char *who = t ? results_text(out, "thread %" PRIu64, t->tid) :
			      results_text(out, "co %" PRIu64, s->id);
	const char *by = t && t->in == SET_JOIN ? "join" : t && t->in == SET_LOCK ? "lock" : NULL;
	if (t && s->id && s->id != t->native)
		who = results_text(out, "%s (co %" PRIu64 ")", who, s->id);
	if (by)
		return results_text(out, "%s -> %s%s", who, by, last ? " -> back" : " -> ");
	if (s->fd >= 0)
		return results_text(out, "%s -> fd %" PRId64 "%s", who, s->fd, last ? " -> back" : " -> ");
	return results_text(out, "%s -> %s", who, last ? "back" : "");
}

static const char *chain(const struct knot *k, struct results *out)
{
	const char *text = "";
	for (size_t i = 0; i < k->n; i++)
		text = results_text(out, "%s%s", text, text_of(k, &k->steps[i], i + 1 == k->n, out));
	return text;
}

static const char *doing(const struct set_thread *t, const struct step *s, struct results *out)
{
	if (!t)
		return s->fd >= 0 ? results_text(out, "for fd %" PRId64, s->fd) :
				    "for its thread, which is blocked";
	if (t->in == SET_JOIN)
		return results_text(out, "in pthread_join for the end of thread %" PRIu64, t->of);
	if (t->in == SET_LOCK)
		return results_text(out, "for a lock that thread %" PRIu64 " holds", t->of);
	return t->in == SET_IO ? results_text(out, "in a call on fd %" PRId64, s->fd) : "in its loop";
}

static uint32_t stack_of(const struct knot *k, const struct step *s)
{
	const struct ctp_state *e = s->id ? image_entity(k->c->image, s->id) : NULL;
	return s->thread != NONE ? k->l->threads[s->thread].stack : e ? e->stack : 0;
}

static bool is_coroutine(const struct knot *k, const struct step *s)
{
	const struct ctp_state *e = s->id ? image_entity(k->c->image, s->id) : NULL;
	return e && e->entity == CTP_COROUTINE;
}

// Coroutines are told of; threads' own stacks only where there is none, and no loop as such: those who wait
// for it are stuck.
static bool is_reported(const struct knot *k, const struct step *s)
{
	bool any = false;
	for (size_t i = 0; i < k->n; i++)
		any |= is_coroutine(k, &k->steps[i]);
	return is_coroutine(k, s) ||
	       (!any && s->id && image_entity(k->c->image, s->id) && k->l->threads[s->thread].in != SET_LOOP);
}

// The next one that is reported; itself, if there is no other.
static size_t next_reported(const struct knot *k, size_t at)
{
	size_t i = (at + 1) % k->n;
	while (i != at && !is_reported(k, &k->steps[i]))
		i = (i + 1) % k->n;
	return i;
}

// `first`: whose stack, and whose next one's, is shown for all: a circle is one finding.
static int report(const struct knot *k, size_t at, size_t first, const struct obligations *proof,
		  const char *text, struct results *out)
{
	const struct step *told = &k->steps[first], *next = &k->steps[next_reported(k, first)];
	const struct set_thread *t = told->thread == NONE ? NULL : &k->l->threads[told->thread];
	const struct step *s = &k->steps[at];
	const struct ctp_state *e = image_entity(k->c->image, s->id);
	struct verdict_case v = {
		.pass = k->c->pass,
		.about = {.world = k->c->world, .image = k->c->image, .state = e},
		.proof = *proof,
		.id = s->id,
		.leads = at == first,
		.stack = stack_of(k, told),
		.label = "waiting",
		.fd = -1,
		.fd_kind = CTP_FD_OTHER,
		.doing = results_text(out, "%s: %s", doing(t, told, out), text),
		.message = text,
		.refuted =
			proof->closure ?
				NULL :
				"the program's own code resumes one of them, unlocks, or a third speaks to one",
		.fix = "join a thread when it has said that it is done, where nothing is held that it may want and its channels "
		       "are served, or let it end by itself",
	};
	if (next != told)
		v.actor = (struct case_party){.did = "waits on", .id = next->id, .stack = stack_of(k, next)};
	case_event(&v, e->since, s->id, s->thread == NONE ? "suspends" : "goes on");
	return results_add(out, &v);
}

static int report_circle(struct knot *k, struct results *out)
{
	struct obligations proof = {0};
	int r = 0;
	cycle_decide(k->c, &proof, unanswered(k), asks(k), out);
	proof.items[PROOF_P1].text = "all of them sleep now, or are suspended";
	proof.items[PROOF_P2].text = "of each it is known who could end its wait";
	const char *text = chain(k, out);
	size_t first = is_reported(k, &k->steps[0]) ? 0 : next_reported(k, 0);
	for (size_t i = 0; i < k->n; i++) {
		if (k->steps[i].thread != NONE)
			k->reported[k->steps[i].thread] = true;
		if (!r && proof.verdict != VERDICT_NONE && is_reported(k, &k->steps[i]))
			r = report(k, i, first, &proof, text, out);
	}
	return r;
}

int cycle_threads(const struct cycle *c, struct results *out)
{
	size_t n = c->image->set_looks.nthreads;
	struct knot k = {.c = c, .l = &c->image->set_looks, .room = 3 * n + 2 * c->n + 1};
	int r = 0;
	if (!n)
		return 0;
	k.stuck = calloc(3 * n, sizeof(*k.stuck));
	k.steps = calloc(k.room, sizeof(*k.steps));
	if (!k.stuck || !k.steps)
		r = -ENOMEM;
	k.discovered = k.stuck + n;
	k.reported = k.discovered + n;
	if (!r)
		find_stuck(&k);
	for (size_t i = 0; !r && i < n; i++) {
		if (!k.stuck[i] || k.reported[i] || k.l->threads[i].in != SET_JOIN)
			continue;
		k.n = 0;
		for (size_t m = 0; m < n; m++)
			k.discovered[m] = false;
		if (leads(&k, i, i))
			r = report_circle(&k, out);
	}
	free(k.stuck);
	free(k.steps);
	return r;
}

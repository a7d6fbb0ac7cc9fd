// SPDX-License-Identifier: MIT
//
// All of these hold, by the tables alone: the coroutine's last try of an open
// descriptor gave EAGAIN, or events of it resumed the coroutine before; the
// descriptor was given to poll or select after the coroutine suspended, with no
// event; and every thread that could resume the coroutine sleeps now with a set
// that does not have it. A descriptor in the set of a sleeping thread carries the
// time at which that wait began (ctp/polled.h). A program that pauses a descriptor
// looks the same until it goes on, so a loop that wakes by a timeout gets a second,
// and without a search of memory this is never more than SUSPECT.
#include "analyze/pass/unpolled.h"

#include "ctp/late.h"
#include "ctp/polled.h"
#include "ctp/wait_inference.h"

#define ASLEEP_NS 10000000u
#define PATIENCE_NS 1000000000u

static uint64_t last_polled(const struct ctp_fd *f)
{
	return f->polled > f->polled_out ? f->polled : f->polled_out;
}

// Does each thread that polls or switches sleep in a wait of its loop, entered after
// `since`? *timed: one of them with a timeout. After a second it is enough to meet it there.
static bool all_sleep(const struct world *w, const struct image *m, uint64_t since, bool *timed)
{
	uint64_t copied = world_ns(w, m->ext_table.time);
	bool long_ago = copied > world_ns(w, since) + PATIENCE_NS;
	unsigned n = 0;
	*timed = false;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->life != CTP_THREAD_LIVE || (!t->polls && !t->sets && !t->switches))
			continue;
		if (!ctp_loop_waits(t) || t->wait_since <= since ||
		    (!long_ago && copied <= world_ns(w, t->wait_since) + ASLEEP_NS))
			return false;
		*timed |= t->wait_timeout_ns > 0;
		n++;
	}
	return n > 0 && (!*timed || long_ago);
}

// Was it in a set for this wait (NULL: for any), and is it in none now, nor registered, nor was it woken?
static bool is_unpolled(const struct suspect *s, const struct ctp_fd *f)
{
	uint64_t since = s->state->since, left = ctp_state_latest(s->state);
	bool same = false, out = s->wait && (s->wait->events & CTP_POLLED_OUT);
	bool for_it = !s->wait ? last_polled(f) > left : (out ? f->polled_out : f->polled) > left;
	return for_it && f->life == CTP_FD_OPEN && f->gen == s->gen && f->reg_epfd < 0 &&
	       !(f->flags & CTP_FD_MANYREGS) && f->event_time < since &&
	       image_polled_by(s->image, f) == IMAGE_POLLED_OUT &&
	       !image_other_registration(s->image, s->state, s->state->lo, s->fd, &same);
}

static void prove(struct obligations *o, const struct suspect *s, const struct ctp_fd *f, bool timed)
{
	bool learned = f->learned == s->state->id;
	obligations_complete(o, s);
	obligations_suspended(o, s);
	o->items[PROOF_P2] =
		learned && s->wait ?
			(struct obligation){
				HOLDS_TRUE,
				"its last try had to wait, and events of the descriptor resumed it before"} :
		learned ?
			(struct obligation){HOLDS_OPEN, "events of the descriptor resumed it before"} :
			(struct obligation){
				HOLDS_OPEN,
				"its last try had to wait, and the descriptor was polled after it suspended"};
	o->items[PROOF_P3] = (struct obligation){
		HOLDS_TRUE,
		"the descriptor is open, in no set with which a thread sleeps, and in no epoll set"};
	o->items[PROOF_P4] = (struct obligation){HOLDS_TRUE, "no event of it came since it suspended"};
	o->items[PROOF_P5] = (struct obligation){
		HOLDS_TRUE,
		"every thread that polls or runs coroutines sleeps in a wait that it entered without it"};
	o->items[PROOF_P6A] = (struct obligation){HOLDS_OPEN, "memory was not searched"};
	o->items[PROOF_P6B] =
		(struct obligation){HOLDS_OPEN, timed ? "a loop waits with a timeout" : "not looked at"};
	o->items[PROOF_P7] = (struct obligation){HOLDS_TRUE, "the program was not ending"};
	o->by_hand = s->world->counts.hand > 0;
	o->weak = !learned || !s->wait;
	if (o->items[PROOF_P0].holds == HOLDS_TRUE && o->items[PROOF_P1].holds == HOLDS_TRUE)
		o->verdict = VERDICT_SUSPECT;
}

static int consider(const struct pass *pass, const struct suspect *s, struct results *out)
{
	const struct ctp_fd *f = image_fd(s->image, s->fd);
	bool timed;
	if (!f || !is_unpolled(s, f) || !all_sleep(s->world, s->image, last_polled(f), &timed))
		return 0;
	struct verdict_case c;
	case_of_wait(&c, pass, s, out);
	case_event(&c, last_polled(f), 0, "its descriptor is polled for the last time");
	prove(&c.proof, s, f, timed);
	c.claim = "waits for a descriptor that no loop polls any more";
	c.fix = "keep the descriptor in the set while somebody waits for it, or resume the waiter when it is left out";
	return results_add(out, &c);
}

static bool suspended(const struct ctp_state *s, unsigned waits)
{
	return s->entity == CTP_COROUTINE && s->life == CTP_SUSPENDED && s->runs &&
	       image_nwaits(s) == waits && !(s->flags & CTP_STATE_MOREWAITS) && !ctp_in_pool(s);
}

static int by_waits(const struct pass *pass, const struct world *w, const struct image *m,
		    struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->stations.n; i++) {
		const struct ctp_state *state = image_state(m, i);
		const struct ctp_wait *wait = &state->waits[0];
		const struct suspect s = {.world = w,
					  .image = m,
					  .state = state,
					  .wait = wait,
					  .fd = wait->fd,
					  .gen = wait->gen};
		if (suspended(state, 1) && wait->how == CTP_WAIT_EAGAIN)
			r = consider(pass, &s, out);
	}
	return r;
}

// Those that did not try before they suspended. A listener's events start others.
static int by_learning(const struct pass *pass, const struct world *w, const struct image *m,
		       struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		const struct ctp_state *state = f->learned && last_polled(f) && !(f->flags & CTP_FD_LISTENS) ?
							image_entity(m, f->learned) :
							NULL;
		const struct suspect s = {.world = w,
					  .image = m,
					  .state = state,
					  .gen = f->gen,
					  .fd = (int32_t)table_index(&m->fds, i)};
		if (state && suspended(state, 0) && ctp_stands_there(f, state))
			r = consider(pass, &s, out);
	}
	return r;
}

int unpolled_find(const struct pass *pass, const struct world *w, const struct image *m, struct results *out)
{
	const struct ctp_ext *e = &m->ext;
	if (e->exit_begun || e->signal_taken || e->listener_closed)
		return 0; // it may be draining
	int r = by_waits(pass, w, m, out);
	return r ? r : by_learning(pass, w, m, out);
}

// SPDX-License-Identifier: MIT
//
// A reader that is paused on purpose looks like this, too: behind a queue, a lock or a channel, or paced.
// Such places are left again and again, by no event of the reader's own descriptor. So it counts only where
// coroutines wait for descriptors of their own, as far as the tables tell, or where nobody ever went on from.
// None of this is asked where somebody meant to register the descriptor for it as it suspended, in vain, or
// replaced its registration by one of their own, which is gone as well.
// A program that wakes by itself may have paused it for a while, the first time: there it has to stand in the
// function that reads, and as one does who waits for a descriptor, in no sleep of its own.
#include "analyze/case/left_unread.h"

#include <string.h>

#include "analyze/case/stuck.h"
#include "ctp/wait_inference.h"
#include "trace/parked_place.h"

// An event of its descriptor resumed another from there.
static bool resumed_there(const struct suspect *s, const struct parked_place *p, uint64_t place)
{
	const struct image *m = s->image;
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (f->learned && f->learned != s->state->id && !ctp_wakes_others(f) &&
		    parked_place(p, f->learned_stack) == place)
			return true;
	}
	return false;
}

// Another stands there, and its one wait is registered, or polled.
static bool waits_there(const struct suspect *s, const struct parked_place *p, uint64_t place)
{
	const struct image *m = s->image;
	for (size_t i = 0; i < m->stations.n; i++) {
		const struct ctp_state *c = image_state(m, i);
		const struct ctp_fd *f = c->id != s->state->id && image_suspended(m, c) &&
							 image_nwaits(c) == 1 ?
						 image_fd(m, c->waits[0].fd) :
						 NULL;
		if (f && f->gen == c->waits[0].gen && (f->reg_epfd >= 0 || f->polled) &&
		    !ctp_wakes_others(f) && image_wait_is_live(m, &c->waits[0]) &&
		    parked_place(p, c->stack) == place)
			return true;
	}
	return false;
}

// Do the stacks differ by one call, from one function perhaps, and is `a` below that a part of `b`?
static bool suspends_alike(const struct image *m, uint32_t a, uint32_t b)
{
	unsigned n, k, same = 0;
	const uint64_t *x = image_stack(m, a, &n, NULL), *y = image_stack(m, b, &k, NULL);
	if (!x || !y)
		return false;
	while (same < n && same < k && x[n - 1 - same] == y[k - 1 - same])
		same++;
	if (same == n || same == k)
		return n == k;
	unsigned below = n - 1 - same;
	return same && below <= k - 1 - same && !memcmp(x, y, below * sizeof(*x));
}

// It stands so as it, or another, did when an event of its descriptor came.
static bool reads_there(const struct suspect *s)
{
	const struct image *m = s->image;
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (f->learned && !ctp_wakes_others(f) &&
		    suspends_alike(m, s->state->stack, f->learned_stack))
			return true;
	}
	return false;
}

bool left_unread_only(const struct suspect *s)
{
	const struct ctp_fd *f = image_fd(s->image, (int32_t)s->witness->fd);
	return !s->wait && f && f->gen == (uint32_t)s->witness->gen && ctp_left_unread(f, s->state);
}

// Somebody meant to register its descriptor as it suspended.
static bool was_refused(const struct suspect *s)
{
	const struct ctp_fd *f = image_fd(s->image, (int32_t)s->witness->fd);
	return !s->wait && f && f->gen == (uint32_t)s->witness->gen && ctp_left_refused(f, s->state);
}

// Its row was deleted before anything came of it and before it came to wait, as is that of one that was
// closed with its row, and whose number this one has now. Nobody pauses what nobody has used yet.
static bool was_deleted_by_number(const struct suspect *s)
{
	const struct ctp_fd *f = image_fd(s->image, (int32_t)s->witness->fd);
	const struct ctp_cand *del = f && s->wait ? image_del_of(s->image, s->wait->fd, s->wait->gen) : NULL;
	return del && f->gen == del->gen && del->call == CTP_CALL_EPOLL_DEL && del->was.closed_owner &&
	       !del->was.event_time && !del->was.last_in && !del->was.last_out && !f->event_time &&
	       f->reg_epfd < 0 && (s->wait->how & CTP_WAIT_EAGAIN) && del->time <= s->state->since;
}

// Another registered its descriptor for other events meanwhile, and took that away again.
static bool was_replaced(const struct suspect *s)
{
	const struct ctp_fd *f = image_fd(s->image, (int32_t)s->witness->fd);
	const struct ctp_cand *del = f && s->wait ? image_del_of(s->image, s->wait->fd, s->wait->gen) : NULL;
	return del && image_nwaits(s->state) == 1 && !(s->state->flags & CTP_STATE_MOREWAITS) &&
	       (s->wait->how & CTP_WAIT_EAGAIN) && f->learned != s->state->id &&
	       del->closer != s->state->id && del->time > ctp_state_latest(s->state) &&
	       ctp_told_another(f, s->wait, del);
}

bool left_unread_place(const struct suspect *s)
{
	struct parked_place p = parked_places(s->image);
	uint64_t place = parked_place(&p, s->state->stack);
	return place &&
	       (!parked_place_left(&p, place) || resumed_there(s, &p, place) || waits_there(s, &p, place));
}

enum verdict left_unread_conclude(const struct suspect *s, const struct obligations *o)
{
	if (!s->witness->left_unread || !stuck_holds(o, PROOF_P0) || !stuck_holds(o, PROOF_P5))
		return VERDICT_NONE;
	if (was_refused(s) || was_deleted_by_number(s) || was_replaced(s))
		return VERDICT_SUSPECT;
	if (s->witness->left_timed && !reads_there(s))
		return VERDICT_NONE;
	return left_unread_place(s) ? VERDICT_SUSPECT : VERDICT_NONE;
}

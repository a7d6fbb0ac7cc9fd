// SPDX-License-Identifier: MIT
//
// Whether a coroutine's descriptor was read by another while it was suspended for it (spec/cTP.md, 2.6, rule
// 9). That one has helped it out, or has taken its wakeup: both look the same, so such a coroutine is neither
// lost nor healthy. It is healthy where the kernel says that there is something to read again.
#include "ctp/late.h"
#include "ctp/rules.h"
#include "trace/image.h"

static bool ready_again(const struct image *m, const struct ctp_state *s)
{
	for (size_t i = 0; i < m->set_looks.nqueues; i++) {
		const struct set_queue *q = &m->set_looks.queues[i];
		if (q->coroutine == s->id && q->changes == s->changes && q->ready)
			return true;
	}
	return false;
}

static bool is_of(const struct ctp_incident *i, const struct ctp_state *s, const struct ctp_fd *f)
{
	const struct ctp_wait *w = &s->waits[0];
	return i->rule == RULE_WRONG_WAITER && i->who == s->id && i->fd == w->fd && i->gen == w->gen &&
	       i->value[1] == (f->last_in & ~CTP_FD_SEVERAL);
}

const struct ctp_incident *image_taken(const struct image *m, const struct ctp_state *s)
{
	const struct ctp_fd *f = image_nwaits(s) == 1 ? image_fd(m, s->waits[0].fd) : NULL;
	const struct ctp_incident *latest = NULL;
	if (!f || f->life != CTP_FD_OPEN || f->gen != s->waits[0].gen || (s->flags & CTP_STATE_MOREWAITS) ||
	    (f->flags & CTP_FD_MANY) || !f->last_in)
		return NULL;
	for (size_t i = 0; i < m->incidents.n; i++) {
		const struct ctp_incident *c = image_incident(m, i);
		if (is_of(c, s, f) && (!latest || c->value[0] > latest->value[0]))
			latest = c;
	}
	bool came_since = latest && f->event_time > ctp_state_latest(s) && f->event_time > latest->value[0];
	return latest && !came_since && !ready_again(m, s) ? latest : NULL;
}

void image_settle_taken(struct image *m)
{
	for (size_t i = 0; m->row_flags && i < m->incidents.n; i++) {
		const struct ctp_incident *c = image_incident(m, i);
		uint32_t row = c->rule == RULE_WRONG_WAITER ? idmap_get(&m->by_id, c->who) : IDMAP_NONE;
		if (row == IDMAP_NONE || !(m->row_flags[row] & IMAGE_ROW_HEALTHY) ||
		    !image_taken(m, image_state(m, row)))
			continue;
		m->counts.healthy--;
		m->row_flags[row] =
			(unsigned char)((m->row_flags[row] & ~IMAGE_ROW_HEALTHY) | IMAGE_ROW_TAKEN);
	}
}

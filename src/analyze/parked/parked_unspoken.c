// SPDX-License-Identifier: MIT
//
// A coroutine waits to read from a pipe, socketpair or eventfd of the program's own to which nothing was ever
// written, and the program is quiet: every thread sleeps for good, and no other process holds the other end.
// The writer is asleep, or there is none. An idle worker that waits for its first work looks the same: so it
// is a fact, and no finding.
#include "analyze/parked/parked_unspoken.h"

#include <inttypes.h>

#include "base/text.h"

// The one known wait of who is still there, which the kernel called not ready.
static const struct ctp_state *waits(const struct image *m, const struct set_queue *q)
{
	const struct ctp_state *s = image_entity(m, q->coroutine);
	const struct ctp_fd *f = image_fd(m, (int32_t)q->fd);
	return s && f && !q->ready && !q->led && !q->out && image_suspended(m, s) &&
			       s->changes == q->changes && image_nwaits(s) == 1 &&
			       !(s->flags & CTP_STATE_MOREWAITS) && s->waits[0].fd == q->fd &&
			       f->gen == q->gen && f->life == CTP_FD_OPEN && f->event_time <= s->since &&
			       !image_ran_since(m, s) ?
		       s :
		       NULL;
}

// Has anybody written there, or read, by any number that is known? *other: one at the other end; -1: none.
static bool spoken(const struct image *m, const struct ctp_fd *f, int64_t fd, int64_t *other)
{
	bool counter = f->kind == CTP_FD_EVENTFD;
	uint64_t end = counter ? f->desc : f->peer_desc;
	*other = counter ? fd : -1;
	if (f->last_in || !end)
		return true;
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *o = table_row(&m->fds, i);
		if (o->life != CTP_FD_OPEN || o->desc != end)
			continue;
		*other = (int64_t)table_index(&m->fds, i);
		if (o->last_out)
			return true;
	}
	return *other < 0;
}

static int tell(const struct pass *pass, uint64_t n, const struct set_queue *first, int64_t other,
		struct results *out)
{
	if (n == 1)
		return results_fact(out, pass->rule, n,
				    "coroutine %" PRIu64 " waits to read from fd %" PRId64
				    ", to which nobody has ever written (by fd %" PRId64
				    "), no other process can, and the whole program sleeps",
				    first->coroutine, first->fd, other);
	return results_fact(out, pass->rule, n,
			    "%" PRIu64
			    " coroutines wait to read what nobody has ever written, as coroutine %" PRIu64
			    " from fd %" PRId64 " (by fd %" PRId64
			    "), no other process can, and the whole program sleeps",
			    n, first->coroutine, first->fd, other);
}

// What a process does that could write: "", or from ", and" on.
static const char *does(const struct set_queue *q, struct results *out)
{
	char span[32] = "";
	const char *in = *q->call  ? results_text(out, " in %s", q->call) :
			 *q->wchan ? results_text(out, " in the kernel's %s", q->wchan) :
				     "";
	if (!q->sleeps)
		return "";
	if (q->still_ns)
		text_duration(span, sizeof(span), q->still_ns);
	return results_text(out, ", and sleeps%s%s%s", in, *span ? ", for at least " : "", span);
}

// Whoever can write is another process: a child, perhaps, that only inherited that end.
static int tell_outside(const struct pass *pass, const struct image *m, struct results *out)
{
	const struct set_looks *l = &m->set_looks;
	int r = 0;
	for (size_t i = 0; !r && l->looked && i < l->nqueues; i++) {
		const struct set_queue *q = &l->queues[i];
		if (q->writer && waits(m, q))
			r = results_fact(out, pass->rule, 1,
					 "coroutine %" PRIu64 " waits to read from fd %" PRId64
					 ", a pipe to which only other processes can write: process %" PRIu64
					 "%s has that end open%s",
					 q->coroutine, q->fd, q->writer, q->child ? ", a child," : "",
					 does(q, out));
	}
	return r;
}

int parked_unspoken(const struct pass *pass, const struct image *m, struct results *out)
{
	const struct set_looks *l = &m->set_looks;
	const struct set_queue *first = NULL;
	int64_t other, of_first = -1;
	uint64_t n = 0;
	if (!l->looked || m->replaced || !m->has_tables)
		return 0;
	int r = tell_outside(pass, m, out);
	if (r || l->items[PROOF_P0].holds != HOLDS_TRUE || l->items[PROOF_P6B].holds != HOLDS_TRUE)
		return r;
	for (size_t i = 0; i < l->nqueues; i++) {
		const struct set_queue *q = &l->queues[i];
		if (!waits(m, q) || spoken(m, image_fd(m, (int32_t)q->fd), q->fd, &other))
			continue;
		of_first = n++ ? of_first : other;
		first = first ? first : q;
	}
	return n ? tell(pass, n, first, of_first, out) : 0;
}

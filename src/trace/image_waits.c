// SPDX-License-Identifier: MIT
//
// Which descriptors lead to which coroutine, by the tables, and who is healthy for that: whose waits are all
// for something that is open, and registered or polled. What leads to those that named no wait is looked up
// from the descriptors' side.
#include "trace/image_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "ctp/polled.h"
#include "ctp/wait_inference.h"

// Is it registered in a set that is not known to be gone?
static bool registered(const struct image *m, const struct ctp_fd *f)
{
	return f->reg_epfd >= 0 &&
	       idmap_get(&m->dead_sets, image_key(f->reg_epfd, f->reg_epgen)) == IDMAP_NONE;
}

// Has its registration an event of these? A one-shot that fired has none either.
static bool asks_for(const struct ctp_fd *f, uint32_t events)
{
	const uint32_t all = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDNORM | EPOLLRDBAND | EPOLLWRNORM |
			     EPOLLWRBAND;
	return !(events & all) || (f->reg_events & events & all);
}

static int chain_add(struct image_chain *c, uint64_t key, size_t row)
{
	c->next[row] = idmap_get(&c->head, key);
	return idmap_set(&c->head, key, (uint32_t)row);
}

// Whom events of it resumed. Not of a listener: what runs after its events is
// mostly the coroutine of a new connection, on its way to its first wait.
static uint64_t learned(const struct ctp_fd *f)
{
	return f->flags & CTP_FD_LISTENS ? 0 : f->learned;
}

static int chain_rows(struct image *m)
{
	size_t n = m->fds.n ? m->fds.n : 1;
	// A row stands in by_mind up to twice: as i for `learned`, as i + n for `adder`.
	m->by_data.next = malloc(n * sizeof(uint32_t));
	m->by_mind.next = malloc(2 * n * sizeof(uint32_t));
	int r = m->by_data.next && m->by_mind.next ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		bool row = f->reg_epfd >= 0;
		if (f->life != CTP_FD_OPEN || (!row && image_polled_by(m, f) == IMAGE_POLLED_OUT))
			continue;
		r = row ? chain_add(&m->by_data, f->reg_data, i) : 0;
		if (!r && learned(f))
			r = chain_add(&m->by_mind, learned(f), i);
		if (!r && row && f->adder && f->adder != learned(f))
			r = chain_add(&m->by_mind, f->adder, i + n);
	}
	return r;
}

// Its one registration was one-shot, and the event has come: nothing more will.
static bool is_spent(const struct ctp_fd *f)
{
	return (f->reg_events & EPOLLONESHOT) && !(f->flags & CTP_FD_MANYREGS) && f->event_time &&
	       f->event_time >= f->reg_time;
}

static void mark(struct image *m, const struct ctp_fd *f, const struct ctp_state *s, unsigned char as)
{
	uint32_t row = is_spent(f) && f->event_time < s->since ? IDMAP_NONE : idmap_get(&m->by_id, s->id);
	if (row != IDMAP_NONE)
		m->row_flags[row] |= as;
}

// A registration leads to it, by its data or as learned.
static void mark_led(struct image *m, const struct ctp_fd *f, uint64_t id)
{
	const struct ctp_state *s = id ? image_entity(m, id) : NULL;
	if (s && ctp_leads_here(f, s))
		mark(m, f, s, IMAGE_ROW_LIVE);
}

// It has registered F, or had to wait for F, at some time. Where events of F have resumed it since, it counts
// only where it stands now: elsewhere it waits for something else. Where an event has come since, and was not
// seen to resume it, as events that come together are not, it may wait for something else, too.
static void mark_user(struct image *m, const struct ctp_fd *f, uint64_t id)
{
	const struct ctp_state *s = id ? image_entity(m, id) : NULL;
	if (!s || (f->learned == id && !ctp_stands_there(f, s)))
		return;
	bool came = f->learned != id && f->event_time && f->event_time < s->since;
	mark(m, f, s, came ? IMAGE_ROW_USED : IMAGE_ROW_LIVE);
}

// Which coroutines a live registration leads to, for those whose last slice
// neither registered nor read.
static int mark_rows(struct image *m)
{
	m->row_flags = calloc(m->stations.n ? m->stations.n : 1, 1);
	if (!m->row_flags)
		return -ENOMEM;
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (f->life != CTP_FD_OPEN ||
		    (!registered(m, f) && image_polled_by(m, f) == IMAGE_POLLED_OUT))
			continue;
		if (f->reg_epfd >= 0 && !(f->flags & CTP_FD_MANYREGS) && !asks_for(f, ~0u))
			continue; // masked: a pause
		mark_led(m, f, f->learned);
		mark_led(m, f, f->leads & CTP_ID_MASK);
		mark_user(m, f, f->reg_epfd >= 0 ? f->adder : 0);
		mark_user(m, f, f->waiter[0] & CTP_ID_MASK);
		mark_user(m, f, f->waiter[1] & CTP_ID_MASK);
	}
	return 0;
}

static bool wait_is_spent(const struct image *m, const struct ctp_wait *wait)
{
	const struct ctp_fd *f = image_fd(m, wait->fd);
	return f && f->life == CTP_FD_OPEN && f->gen == wait->gen && is_spent(f);
}

void image_waits_count(struct image *m, size_t row)
{
	const struct ctp_state *s = image_state(m, row);
	unsigned n = image_nwaits(s), live = 0;
	for (unsigned i = 0; i < n; i++)
		live += image_wait_is_live(m, &s->waits[i]) && !wait_is_spent(m, &s->waits[i]);
	m->counts.suspended++;
	if (n ? live == n : (m->row_flags[row] & IMAGE_ROW_LIVE) != 0) {
		m->counts.healthy++;
		m->row_flags[row] |= IMAGE_ROW_HEALTHY;
	} else if (!n) {
		m->counts.parked++;
		m->row_flags[row] |= IMAGE_ROW_PARKED;
	}
}

// Who stands with this very stack.
struct standing {
	uint32_t stack;
	bool waits, parked; // some for a descriptor, as far as is known; some for none
};

static int by_stack(const void *a, const void *b)
{
	const struct standing *x = a, *y = b;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static struct standing *stands(const struct image *m, struct standing *v, size_t n, size_t row)
{
	const struct ctp_state *s = image_state(m, row);
	struct standing key = {.stack = s->stack};
	bool is = s->entity == CTP_COROUTINE && s->life == CTP_SUSPENDED && s->stack;
	return is ? bsearch(&key, v, n, sizeof(*v), by_stack) : NULL;
}

// The places of those that have used what is registered, each once. NULL, *n > 0: no memory.
static struct standing *places_of_users(const struct image *m, size_t *n)
{
	size_t used = *n = 0;
	for (size_t i = 0; i < m->stations.n; i++)
		*n += (m->row_flags[i] & IMAGE_ROW_USED) != 0;
	struct standing *v = *n ? malloc(*n * sizeof(*v)) : NULL;
	for (size_t i = 0; v && i < m->stations.n; i++)
		if (m->row_flags[i] & IMAGE_ROW_USED)
			v[used++] = (struct standing){.stack = image_state(m, i)->stack};
	if (!v)
		return NULL;
	qsort(v, used, sizeof(*v), by_stack);
	*n = 0;
	for (size_t i = 0; i < used; i++)
		if (!*n || v[*n - 1].stack != v[i].stack)
			v[(*n)++] = v[i];
	return v;
}

// Who has used a live descriptor waits for it, unless others stand at the same place who have not, and none
// who is known to wait for one: then it is a lock, say, or a queue.
static int settle_used(struct image *m)
{
	size_t n;
	struct standing *v = places_of_users(m, &n);
	if (!v)
		return n ? -ENOMEM : 0;
	for (size_t i = 0; i < m->stations.n; i++) {
		struct standing *at = stands(m, v, n, i);
		bool waits = image_nwaits(image_state(m, i)) || (m->row_flags[i] & IMAGE_ROW_LIVE);
		if (!at)
			continue;
		at->waits |= waits;
		at->parked |= !waits && !(m->row_flags[i] & IMAGE_ROW_USED);
	}
	for (size_t i = 0; i < m->stations.n; i++) {
		const struct standing *at = stands(m, v, n, i);
		if ((m->row_flags[i] & IMAGE_ROW_USED) && (!at || at->waits || !at->parked))
			m->row_flags[i] |= IMAGE_ROW_LIVE;
	}
	free(v);
	return 0;
}

int image_waits_index(struct image *m)
{
	int r = chain_rows(m);
	r = r ? r : mark_rows(m);
	return r ? r : settle_used(m);
}

// s: of those that woke it, only where it stands. NULL: any.
static const struct ctp_fd *chain_find(const struct image *m, const struct image_chain *c, uint64_t key,
				       const struct ctp_state *s, int32_t fd, const struct ctp_fd **same)
{
	size_t n = m->fds.n ? m->fds.n : 1;
	for (uint32_t i = idmap_get(&c->head, key); i != IDMAP_NONE; i = c->next[i]) {
		size_t row = i % n;
		const struct ctp_fd *f = table_row(&m->fds, row);
		if (s && i < n && f->adder != s->id && !ctp_stands_there(f, s))
			continue;
		if (table_index(&m->fds, row) != (uint64_t)(uint32_t)fd)
			return table_row(&m->fds, row);
		*same = table_row(&m->fds, row);
	}
	return NULL;
}

const struct ctp_fd *image_other_registration(const struct image *m, const struct ctp_state *s, uint64_t data,
					      int32_t fd, bool *same_number)
{
	const struct ctp_fd *same = NULL, *other = chain_find(m, &m->by_mind, s->id, s, fd, &same);
	*same_number = false;
	if (other || same)
		return other ? other : same; // it leads to this entity under whatever number
	other = chain_find(m, &m->by_data, data, NULL, fd, &same);
	*same_number = !other && same;
	return other ? other : same;
}

bool image_pauses(const struct image *m)
{
	for (size_t i = 0; i < m->fds.n; i++)
		if (((const struct ctp_fd *)table_row(&m->fds, i))->flags & CTP_FD_RESTORED)
			return true;
	return false;
}

bool image_wait_is_live(const struct image *m, const struct ctp_wait *wait)
{
	const struct ctp_fd *f = image_fd(m, wait->fd);
	return f && f->life == CTP_FD_OPEN && f->gen == wait->gen &&
	       ((registered(m, f) && asks_for(f, wait->events)) || (f->flags & CTP_FD_MANYREGS) ||
		image_polled_by(m, f) != IMAGE_POLLED_OUT);
}

enum image_polled image_polled_by(const struct image *m, const struct ctp_fd *f)
{
	bool sits = false, maybe = false;
	if (!f->polled && !f->polled_out)
		return IMAGE_POLLED_OUT;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		int has = t->life == CTP_THREAD_LIVE && t->sets ? ctp_polled_has(t, f) : 0;
		if (has == 1)
			return IMAGE_POLLED_IN;
		maybe |= has < 0;
		sits |= t->life == CTP_THREAD_LIVE && t->sets && ctp_loop_waits(t);
	}
	return maybe || !sits ? IMAGE_POLLED_MAYBE : IMAGE_POLLED_OUT;
}

// SPDX-License-Identifier: MIT
//
// Whether what a coroutine waits for is there, and has been for a second, while nothing tells it: its set is
// not polled any more, its registration asks for something else, or it was lost in the loop. Which of these
// it is, the rules say where they can; healthy it is not. A loop that is busy elsewhere for so long looks the
// same.
#include <sys/epoll.h>

#include "trace/image.h"
#include "trace/manifest.h"

#define LONG_NS 1000000000ULL
enum { DESCRIPTORS_MOST = 4096 };

static bool is_unheard(const struct ctp_fd *f, const struct descriptor *d, const struct manifest *clock,
		       const struct ctp_state *s)
{
	return d->ready_ns && d->ns >= d->ready_ns + LONG_NS && f->life == CTP_FD_OPEN && f->gen == d->gen &&
	       !(f->flags & CTP_FD_LISTENS) && f->event_time < s->since &&
	       manifest_ns(clock, s->since) <= d->ready_ns;
}

// It said nothing of what it waits for, and it alone reads this.
static const struct descriptor *unheard_reader(const struct image *m, const struct manifest *clock,
					       const struct ctp_state *s)
{
	for (size_t i = 0; m->descriptors.n <= DESCRIPTORS_MOST && i < m->descriptors.n; i++) {
		const struct descriptor *d = &m->descriptors.v[i];
		const struct ctp_fd *f = d->ready_ns ? image_fd(m, (int32_t)d->fd) : NULL;
		if (f && f->last_in == s->id && is_unheard(f, d, clock, s))
			return d;
	}
	return NULL;
}

const struct descriptor *image_unheard(const struct image *m, const struct manifest *clock,
				       const struct ctp_state *s)
{
	for (unsigned i = 0; i < image_nwaits(s); i++) {
		const struct ctp_wait *w = &s->waits[i];
		const struct ctp_fd *f = image_fd(m, w->fd);
		const struct descriptor *d = f ? descriptors_find(&m->descriptors, w->fd, w->gen) : NULL;
		bool reads = (w->events & EPOLLIN) || !(w->events & EPOLLOUT);
		if (d && reads && is_unheard(f, d, clock, s))
			return d;
	}
	return image_nwaits(s) ? NULL : unheard_reader(m, clock, s);
}

void image_settle_unheard(struct image *m, const struct manifest *clock)
{
	for (size_t i = 0; m->row_flags && m->descriptors.n && i < m->stations.n; i++) {
		if (!(m->row_flags[i] & IMAGE_ROW_HEALTHY) || !image_unheard(m, clock, image_state(m, i)))
			continue;
		m->counts.healthy--;
		m->row_flags[i] = (unsigned char)((m->row_flags[i] & ~IMAGE_ROW_HEALTHY) | IMAGE_ROW_UNHEARD);
	}
}

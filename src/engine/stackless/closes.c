// SPDX-License-Identifier: MIT
//
// The table keeps who closed a number last, and what the present generation is registered with: a number that
// is handed out again loses the data of the one before. So each registration is copied while it stands; when
// the generation has ended, the copy and the end belong together. One that came and went between two looks is
// missed.
#include "engine/stackless/closes.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ctp/there.h"
#include "ctp/wait_inference.h"
#include "engine/inspect/inspect.h"

enum { CLOSES_MOST = 65536, FDS_MOST = 65536 };

struct closes_seen {
	uint32_t gen;  // of the copy; 0: there is none
	uint32_t told; // the last generation whose end was told
	struct ctp_fd was;
};

static bool grow(struct closes *c, uint64_t fd)
{
	if (fd < c->nseen)
		return true;
	size_t n = c->nseen ? c->nseen : 64;
	while (n <= fd)
		n *= 2;
	struct closes_seen *more = realloc(c->seen, n * sizeof(*more));
	if (!more)
		return false;
	memset(more + c->nseen, 0, (n - c->nseen) * sizeof(*more));
	c->seen = more;
	c->nseen = n;
	return true;
}

static bool ended(struct closes *c, int fd, const struct ctp_fd *was, const struct ctp_fd *now)
{
	if (c->n >= CLOSES_MOST || GROW(c->v, c->n, c->room))
		return false;
	c->v[c->n++] = (struct closes_one){fd, *was, *now};
	return true;
}

bool closes_note(struct closes *c, const struct ctp_region *r)
{
	struct ctp_walk w = ctp_walk_fds(r);
	bool any = false;
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n && i < FDS_MOST; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_fd f;
		if (!inspect_fd(r, i, &f) || !grow(c, i))
			continue;
		struct closes_seen *s = &c->seen[i];
		bool open = f.life == CTP_FD_OPEN;
		// Closed since: either the copy is there, or the entry is still the closed one's own.
		if (f.closed_gen && f.closed_gen != s->told) {
			if (s->gen == f.closed_gen)
				any |= ended(c, (int)i, &s->was, &f);
			else if (!open && f.closed_gen == f.gen && f.reg_data)
				any |= ended(c, (int)i, &f, &f);
			s->told = f.closed_gen;
		}
		if (open && f.reg_epfd >= 0 && f.reg_data) {
			s->gen = f.gen;
			s->was = f;
		}
	}
	return any;
}

// Its number was not handed out again: the entry is as it was at the end.
static bool is_own_entry(const struct closes_one *c)
{
	return c->end.life != CTP_FD_OPEN && c->end.gen == c->end.closed_gen;
}

bool closes_waited(const struct closes_one *c)
{
	const struct ctp_fd *e = &c->end;
	return is_own_entry(c) && e->reg_epfd >= 0 && e->reg_data == c->was.reg_data &&
	       e->event_time < e->reg_time;
}

bool closes_delivered(const struct closes_one *c)
{
	return !is_own_entry(c) || !ctp_was_registered(&c->end) || c->end.event_time >= c->end.reg_time;
}

void closes_deinit(struct closes *c)
{
	free(c->seen);
	free(c->v);
	*c = (struct closes){0};
}

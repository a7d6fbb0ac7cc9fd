// SPDX-License-Identifier: MIT
//
// A coroutine that waits for a descriptor nearly always keeps its number: as a parameter, or in its awaiter.
// Other numbers that are as small stand in frames, too, so this never adds to what is said of a coroutine.
#include "engine/stackless/frame_fds.h"

#include <stdlib.h>

#include "base/search.h"
#include "ctp/there.h"

enum { FRAME_MOST = 4096, BEHIND_FUNCTIONS = 4, STANDARD = 3 };

static int by_number(const void *a, const void *b)
{
	const struct frame_fd *x = a, *y = b;
	return (x->fd > y->fd) - (x->fd < y->fd);
}

void frame_fds_init(struct frame_fds *f, const struct inspection *l,
		    uint64_t (*leads)(void *ctx, uint64_t data), void *ctx)
{
	*f = (struct frame_fds){.v = calloc(l->registrations.n + 1, sizeof(*f->v))};
	for (size_t i = 0; f->v && i < l->registrations.n; i++) {
		const struct registration *r = &l->registrations.v[i];
		struct ctp_fd now = {0};
		if (r->tfd < STANDARD || !inspect_fd(l->r, (uint64_t)r->tfd, &now) || now.life != CTP_FD_OPEN)
			continue;
		f->v[f->n++] = (struct frame_fd){
			.fd = r->tfd,
			.armed = r->events & CTP_REG_EVENTS,
			.closed = now.closed_gen != now.gen && now.closed_gen ? now.closed : 0,
			.event = now.event_time,
			.leads = leads(ctx, r->data)};
	}
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_number);
}

struct frame_fd_answer frame_fds_of(const struct frame_fds *f, const struct inspection *l,
				    const struct stackless *s, uint64_t created)
{
	struct frame_fd_answer a = {0};
	int32_t v[FRAME_MOST / 4];
	size_t bytes = s->block.hi > s->at ? s->block.hi - s->at : 0;
	size_t n =
		f->n ? memory_peek(&l->memory, s->at, v, bytes < sizeof(v) ? bytes : sizeof(v), false) / 4 :
		       0;
	for (size_t i = BEHIND_FUNCTIONS; i < n; i++) {
		size_t at = v[i] < STANDARD ? f->n : FIRST_NOT(f->n, k, f->v[k].fd < v[i]);
		for (; at < f->n && f->v[at].fd == v[i]; at++) {
			if (f->v[at].closed > created)
				continue;
			a.armed |= f->v[at].armed && (!f->v[at].leads || f->v[at].leads == s->at);
			a.event = f->v[at].event > a.event ? f->v[at].event : a.event;
		}
	}
	return a;
}

void frame_fds_deinit(struct frame_fds *f)
{
	free(f->v);
	*f = (struct frame_fds){0};
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t frame_fds_last_event(const struct inspection *l)
{
	struct ctp_walk w = ctp_walk_fds(l->r);
	uint64_t last = 0;
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_fd f;
		if (inspect_fd(l->r, i, &f))
			last = later(last, later(f.event_time, later(f.polled, f.polled_out)));
	}
	return last;
}

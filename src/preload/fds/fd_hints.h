// SPDX-License-Identifier: MIT
//
// fd_hints.h - what waits (fd_waits.c) and registrations (fd_registrations.c) share: the hint that an entry
// keeps of a coroutine, and the list of what the running slice has registered.
#pragma once

#include "preload/coroutine/coroutine.h"
#include "preload/fds/fds.h"

static inline uint64_t fd_hint_of(const struct ctp_state *s)
{
	return s && !(s->flags & CTP_STATE_PRIVATE) ? (uint64_t)s->station << CTP_ID_BITS | s->id : 0;
}

static inline __attribute__((always_inline)) void fd_slice_adds(struct thread_ctx *g,
								const struct ctp_wait *w)
{
	for (uint32_t i = 0; i < g->nwaits; i++) {
		if (g->waits[i].fd == w->fd && g->waits[i].gen == w->gen && g->waits[i].epfd == w->epfd) {
			g->waits[i] = *w;
			return;
		}
	}
	if (g->nwaits < CTP_WAITS)
		g->waits[g->nwaits++] = *w;
	else
		g->more_waits = true;
}

// Whether the coroutine of a hint is suspended with (fd, gen) among its waits, or, if a registration led here
// (`led`), with no wait of its own.
bool fd_waits_at(uint64_t hint, int fd, uint32_t gen, bool led);

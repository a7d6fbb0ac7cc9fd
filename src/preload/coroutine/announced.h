// SPDX-License-Identifier: MIT
//
// announced.h - coroutines that the program itself tells of (include/ctp/coroutine.h), as what libctp.so
// keeps of them names each other.
#pragma once

#include "preload/coroutine/station.h"

enum { ANNOUNCED_NESTED = 64 }; // so many may have resumed each other, one above the other

static inline bool announced_is(const struct ctp_state *s)
{
	return s->source == CTP_SOURCE_PROGRAM && s->entity == CTP_COROUTINE;
}

static inline uint64_t announced_hint(const struct ctp_state *s)
{
	return (uint64_t)s->station << CTP_ID_BITS | s->id;
}

struct ctp_state *announced_private(uint64_t at); // a station past the region's, or NULL

// The entity of a hint, if its station is its own still; else NULL.
static inline struct ctp_state *announced_of(uint64_t hint)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint64_t at = hint >> CTP_ID_BITS;
	struct ctp_state *s = CTP_LIKELY(at < r->stations_max) ? &r->states[at] : announced_private(at);
	return s && s->id == (hint & CTP_ID_MASK) && hint ? s : NULL;
}

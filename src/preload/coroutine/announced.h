// SPDX-License-Identifier: MIT
//
// announced.h - coroutines that the program itself tells of (include/ctp/coroutine.h), as what libctp.so
// keeps of them names each other.
#pragma once

#include "preload/coroutine/station.h"

enum { ANNOUNCED_NESTED = 64 }; // so many may have resumed each other, one above the other

static inline bool announced_is(const struct ctp_state *s)
{
	return s->source == CTP_SOURCE_PROGRAM; // which says it of coroutines only
}

static inline uint64_t announced_hint(const struct ctp_state *s)
{
	return (uint64_t)s->station << CTP_ID_BITS | s->id;
}

// The state of a station that the engine sees; else NULL.
static inline struct ctp_state *announced_shared(uint64_t at)
{
	const struct ctp_region *r = &ctp_tracer->region;
	return CTP_LIKELY(at < r->stations_max) ? &r->states[at] : NULL;
}

struct ctp_state *announced_private(uint64_t at); // a station past the region's, or NULL

static inline struct ctp_state *announced_at(uint64_t at)
{
	struct ctp_state *s = announced_shared(at);
	return CTP_LIKELY(s != NULL) ? s : announced_private(at);
}

// The entity of a hint, if its station is its own still; else NULL.
static inline struct ctp_state *announced_of(uint64_t hint)
{
	struct ctp_state *s = announced_at(hint >> CTP_ID_BITS);
	return s && s->id == (hint & CTP_ID_MASK) && hint ? s : NULL;
}

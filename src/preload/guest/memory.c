// SPDX-License-Identifier: MIT
//
// The library's own memory: a bump allocator over the region's sparse guest part. Nothing is
// ever freed: it grows with the number of different stacks and places, not with events. It is
// part of the region so that the witness, which must not take our tables for the program's
// pointers, has one range to leave out.
#include "preload/guest/guest.h"

static uint64_t used; // bytes of region.guest given out

void memory_init(void)
{
	used = 0;
}

void *memory_take(uint64_t bytes)
{
	const struct ctp_region *r = &ctp_tracer->region;
	bytes = (bytes + 63) & ~63ULL;
	if (bytes > r->guest_bytes || ctp_load64(&used) > r->guest_bytes - bytes)
		return NULL;
	uint64_t at = ctp_add64(&used, bytes);
	if (at > r->guest_bytes - bytes)
		return NULL;
	return r->guest + at;
}

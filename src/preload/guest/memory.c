// SPDX-License-Identifier: MIT
//
// The guest's own memory: a bump allocator over the region's sparse guest
// part. Nothing is ever given back: what lives here grows with the number of
// different stacks and places, not with events. It lies in the region so that
// the witness, which must not mistake our tables for the program's pointers,
// leaves out one range and is done.
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

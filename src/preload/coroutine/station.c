// SPDX-License-Identifier: MIT
//
// Stations come fresh from the region (allocated_count, which version-1 probes raise as well)
// or from the queue of dead ones, which is used while it holds more than KEEP, so that
// coroutines that died recently can still be recognized and read. When the region has none
// left, stations are private, and CTP_GAP_STATIONS says that the table is incomplete. The
// queue is a ring of station numbers: the thread that retires a station raises the tail, the
// one that takes a station raises the head.
#include "preload/coroutine/station.h"

#include "preload/guest/coredump_advise.h"
#include "preload/coroutine/stacks.h"

enum { KEEP = 4096, QUEUE_LEAST = 1 << 12, PRIVATE = 1 << 18 };

static uint32_t *queue;
static uint64_t head, tail, mask; // mask: its size, a power of two, less one
static struct ctp_state *privates;
static uint32_t private_count;


int station_init(void)
{
	head = tail = 0;
	privates = NULL;
	private_count = 0;
	uint64_t most = ctp_tracer->region.stations_max + (uint64_t)PRIVATE, size = QUEUE_LEAST;
	while (size < most) // all may be dead at once
		size *= 2;
	mask = size - 1;
	queue = memory_take(sizeof(uint32_t) * size);
	return queue ? 0 : -1;
}

struct ctp_state *station_at(uint32_t number)
{
	const struct ctp_region *r = &ctp_tracer->region;
	if (!number)
		return NULL;
	if (number <= r->stations_max)
		return &r->states[number - 1];
	return &privates[number - 1 - r->stations_max];
}

uint32_t station_count(void)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint32_t n = ctp_load32(&r->header->allocated_count);
	return n <= r->stations_max ? n : r->stations_max + ctp_load32(&private_count);
}

void station_retire(struct ctp_state *s)
{
	if (state_private(s)->queued)
		return;
	state_private(s)->queued = 1;
	uint64_t at = ctp_add64(&tail, 1);
	ctp_store32(&queue[at & mask], s->station + 1);
}

// The oldest dead station, if more than `keep` wait; 0 if none.
static uint32_t recycled(uint64_t keep)
{
	for (;;) {
		uint64_t at = ctp_load64(&head);
		if (ctp_load64(&tail) - at <= keep)
			return 0;
		uint32_t n = ctp_load32(&queue[at & mask]);
		if (!n) // not stored yet
			return 0;
		if (!ctp_cas64(&head, at, at + 1))
			continue;
		ctp_store32(&queue[at & mask], 0);
		struct ctp_state *s = station_at(n);
		state_private(s)->queued = 0;
		if (s->life == CTP_FINISHED || s->life == CTP_DESTROYED)
			return n;
		// it turned out to live on: its stack is shared by copying
	}
}

static uint32_t fresh(void)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint32_t *count = &r->header->allocated_count;
	if (ctp_load32(count) < r->stations_max) {
		uint32_t at = ctp_add32(count, 1);
		coredump_advise_grow(COREDUMP_STATES, at + 1);
		if (at < r->stations_max)
			return at + 1;
	}
	uint32_t n = recycled(0);
	if (n)
		return n;
	ctp_or32(&r->ext->gaps, CTP_GAP_STATIONS);
	if (!ctp_load_ptr(&privates)) {
		struct ctp_state *none = NULL;
		struct ctp_state *p = memory_take(sizeof(*p) * PRIVATE);
		if (!p)
			return 0;
		ctp_cas_ptr(&privates, &none, p);
	}
	uint32_t at = ctp_add32(&private_count, 1);
	return at < PRIVATE ? r->stations_max + at + 1 : 0;
}

struct ctp_state *station_new(enum ctp_entity entity)
{
	uint32_t n = recycled(KEEP);
	if (!n && !(n = fresh()))
		return NULL;
	struct ctp_state *s = station_at(n);
	struct ctp_station *shared;
	uint64_t id = ctp_add64(&ctp_tracer->region.ext->next_id, 1) + 1;
	ctp_state_begin(s);
	s->turn &= CTP_TURN_SEQ;
	memset((char *)s + sizeof(s->turn), 0, sizeof(*s) - sizeof(s->turn));
	s->id = id;
	s->entity = entity;
	s->station = n - 1;
	s->last = (uint64_t)&stacks_none;
	s->created = s->since = guest_now();
	s->owner = CTP_OWNER_GUEST;
	if (n > ctp_tracer->region.stations_max)
		s->flags = CTP_STATE_PRIVATE;
	ctp_state_end(s);
	shared = station_shared(s);
	if (shared) {
		shared->probe_id = id;
		shared->birth_ts = guest_mono_ns();
		shared->is_dead = 0;
	}
	return s;
}

// SPDX-License-Identifier: MIT
//
// A version-1 probe writes its station's eight slots in turn: event n is in slot (n - 1) % 8,
// and its sequence gives the lap. Events between the last one seen and the oldest one still
// there are lost, and counted. Stations of libctp.so keep their slots unused and are skipped,
// so that only those of version-1 probes cost anything. A probe may give its station to
// another coroutine (another probe_id or birth), which gets an id of its own.
#include "engine/record/v1.h"

#include <stdlib.h>

#include "base/pages.h"
#include "ctp/seq.h"
#include "ctp/there.h"

#define V1_ID_BASE (1ULL << 39)
#define BATCH 2048

struct v1_station {
	uint32_t index;
	uint64_t id, probe_id, birth, n; // n: last event seen
	uint64_t n_base;                 // events before this coroutine had the station
	uint64_t last_ns;                // times of one coroutine never fall
	bool dead, active;               // its probe has said so, and we have; as of its last event
};

struct v1 {
	const struct ctp_region *region;
	struct writer *writer;
	struct v1_station *stations;
	size_t count, room;
	unsigned char *seen; // a bit for each station that has been sorted out
	uint32_t from;       // all below have been
	bool guest;          // some station may be the guest's
	uint64_t next_id, lost, events, last_time, unplaced;
	uint32_t n;
	struct writer_station batch[BATCH];
};

struct v1 *v1_new(const struct ctp_region *r, struct writer *w)
{
	struct v1 *v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->region = r;
	v->writer = w;
	v->seen = pages_take(r->stations_max / 8 + 1);
	if (!v->seen) {
		free(v);
		return NULL;
	}
	return v;
}

void v1_free(struct v1 *v)
{
	if (!v)
		return;
	free(v->stations);
	pages_give(v->seen, v->region->stations_max / 8 + 1);
	free(v);
}

uint64_t v1_lost(const struct v1 *v)
{
	return v->lost;
}
uint64_t v1_events(const struct v1 *v)
{
	return v->events;
}
uint64_t v1_stations(const struct v1 *v)
{
	return v->next_id;
}
uint64_t v1_unplaced(const struct v1 *v)
{
	return v->next_id ? v->unplaced : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct writer_station *x = a, *y = b;
	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

static void flush(struct v1 *v, const struct clock_pairs *clock)
{
	if (!v->n)
		return;
	qsort(v->batch, v->n, sizeof(*v->batch), by_time);
	for (uint32_t i = 0; i < v->n; i++) {
		uint64_t t = clock_to_ticks(clock, v->batch[i].ts_ns);
		v->last_time = v->batch[i].time = t > v->last_time ? t : v->last_time;
	}
	v->writer->ops->stations(v->writer, v->batch, v->n);
	v->n = 0;
}

static bool is_guests(const struct v1 *v, uint64_t i)
{
	const struct ctp_state *s = &v->region->states[i];
	return v->guest && ctp_there(v->region, s) && ctp_load32(&s->owner) == CTP_OWNER_GUEST;
}

// Stations allocated since that somebody has written to: those without an owner join the
// list; whether they are the guest's after all shows later. One that is allocated, and not
// there yet, is come back to.
static void find(struct v1 *v)
{
	uint32_t asked = ctp_load32(&v->region->header->allocated_count),
		 max = v->region->header->max_stations;
	uint32_t high = asked < v->region->stations_max ? asked : v->region->stations_max;
	v->unplaced = asked > max ? asked - max : 0;
	struct ctp_walk states = ctp_walk_states(v->region);
	struct ctp_walk w = ctp_walk(v->region, v->region->stations, sizeof(*v->region->stations), high);
	v->guest = ctp_walk_from(&states, 0) < states.n;
	for (uint64_t i = ctp_walk_from(&w, v->from); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		v->from += i == v->from;
		if (v->seen[i / 8] & 1 << i % 8)
			continue;
		v->seen[i / 8] |= (unsigned char)(1 << i % 8);
		if (is_guests(v, i))
			continue;
		if (v->count == v->room) {
			size_t room = v->room ? v->room * 2 : 256;
			struct v1_station *more = realloc(v->stations, room * sizeof(*more));
			if (!more)
				return;
			v->stations = more;
			v->room = room;
		}
		v->stations[v->count++] = (struct v1_station){.index = (uint32_t)i};
	}
}

// Event number of what slot i holds; 0 if nothing, or it is being written.
static uint64_t slot_number(const struct ctp_slot *slots, unsigned i)
{
	uint64_t seq = ctp_load64(&slots[i].seq);
	return (seq & 1) || !seq ? 0 : (seq / 2 - 1) * CTP_SLOTS + i + 1;
}

// Reads event n if it is still there.
static bool read_event(const struct ctp_slot *slots, uint64_t n, struct ctp_slot *out)
{
	unsigned i = (unsigned)((n - 1) % CTP_SLOTS);
	return ctp_slot_read(slots, i, 0, out) == n;
}

// First event after n that is still there; 0 if there is none.
static uint64_t oldest_after(const struct ctp_slot *slots, uint64_t n)
{
	uint64_t best = 0;
	for (unsigned i = 0; i < CTP_SLOTS; i++) {
		uint64_t m = slot_number(slots, i);
		if (m > n && (!best || m < best))
			best = m;
	}
	return best;
}

static struct writer_station *add(struct v1 *v, const struct v1_station *s, const struct clock_pairs *clock)
{
	if (v->n == BATCH)
		flush(v, clock);
	v->batch[v->n] = (struct writer_station){
		.kind = CTP_EV_STATION,
		.active = s->active,
		.id = s->id,
		.n = s->n - s->n_base,
		.station_probe_id = s->probe_id,
		.ts_ns = s->last_ns,
	};
	return &v->batch[v->n++];
}

// After its last event: nothing follows, unless another coroutine gets the station.
static void station_end(struct v1 *v, struct v1_station *s, const struct clock_pairs *clock)
{
	s->dead = true;
	add(v, s, clock)->kind = CTP_EV_STATION_END;
}

static void station_events(struct v1 *v, struct v1_station *s, const struct ctp_station *st,
			   const struct clock_pairs *clock)
{
	bool dead = ctp_load8(&st->is_dead);
	for (int tries = 0; tries < 64; tries++) {
		struct ctp_slot slot = {.seq = 0};
		uint64_t n = s->n + 1;
		if (!read_event(st->slots, n, &slot)) {
			// Not yet written, or overwritten: then the oldest that is still
			// there tells. Looked at twice, as one look may straddle a lap.
			n = oldest_after(st->slots, s->n);
			if (!n)
				break;
			if (oldest_after(st->slots, s->n) != n || !read_event(st->slots, n, &slot))
				continue;
		}
		v->lost += n - s->n - 1;
		s->n = n;
		s->last_ns = slot.timestamp_ns > s->last_ns ? slot.timestamp_ns : s->last_ns;
		s->active = slot.is_active != 0;
		struct writer_station *e = add(v, s, clock);
		e->tid = slot.tid;
		e->addr = slot.addr;
		e->finished = dead && !oldest_after(st->slots, n);
		v->events++;
	}
	if (dead && !s->dead && s->n > s->n_base && !oldest_after(st->slots, s->n))
		station_end(v, s, clock);
}

// Makes the entry fit whoever has the station now. False: nobody yet.
static bool settle(struct v1 *v, struct v1_station *s, const struct ctp_station *st)
{
	uint64_t probe = ctp_load64(&st->probe_id), birth = ctp_load64(&st->birth_ts);
	if (!probe)
		return false;
	if (s->id && probe == s->probe_id && birth == s->birth)
		return true;
	if (s->id && probe == s->probe_id && !s->birth) { // seen while it was being filled in
		s->birth = birth;
		return true;
	}
	uint64_t newest = 0;
	for (unsigned i = 0; i < CTP_SLOTS; i++) {
		uint64_t n = slot_number(st->slots, i);
		newest = n > newest ? n : newest;
	}
	if (newest < s->n) // the slots begin anew
		s->n = 0;
	s->n_base = s->n;
	s->last_ns = 0;
	s->dead = s->active = false;
	s->id = V1_ID_BASE + v->next_id++;
	s->probe_id = probe;
	s->birth = birth;
	return true;
}

bool v1_turn(struct v1 *v, const struct clock_pairs *clock)
{
	uint64_t before = v->events;
	find(v);
	for (size_t i = 0; i < v->count; i++) {
		struct v1_station *s = &v->stations[i];
		const struct ctp_station *st = &v->region->stations[s->index];
		if (!s->id && is_guests(v, s->index)) {
			*s = v->stations[--v->count];
			i--;
			continue;
		}
		if (settle(v, s, st))
			station_events(v, s, st, clock);
	}
	flush(v, clock);
	return v->events != before;
}

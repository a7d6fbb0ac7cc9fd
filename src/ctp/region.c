// SPDX-License-Identifier: MIT
//
// Lays out a region. Capacity is address space, not memory: the file is sparse, and a part
// that nobody touches costs nothing. Order: header, stations, then page-aligned parts, rings
// last.
#include "ctp/region.h"

#include <errno.h>

#include "ctp/births.h"
#include "ctp/chunk.h"

enum { PAGE = 4096 };
#define GUEST_BYTES (1ULL << 30)
#define RINGS_BYTES \
	(16ULL \
	 << 30) // of address space; so a process that follows thousands of others can map all their regions
#define THREADS_LEAST 1024u

static uint64_t part(uint64_t *end, uint64_t bytes)
{
	uint64_t at = (*end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	*end = at + bytes;
	return at;
}

static uint32_t threads_for(uint32_t ring_bytes)
{
	uint64_t n = RINGS_BYTES / ring_bytes;
	return n < THREADS_LEAST ? THREADS_LEAST : n < CTP_THREADS_MAX ? (uint32_t)n : CTP_THREADS_MAX;
}

void ctp_region_layout(struct ctp_header *header, uint32_t stations, uint32_t ring_bytes)
{
	struct ctp_ext *e = &header->ext;
	uint32_t threads = threads_for(ring_bytes), all = stations + threads;
	uint64_t end = CTP_HEADER_BYTES + (uint64_t)all * CTP_STATION_BYTES;
	header->version = CTP_VERSION;
	header->max_stations = stations;
	e->version = CTP_EXT_VERSION;
	e->bytes = sizeof(*e);
	e->stations_max = all;
	e->threads_max = threads;
	e->fds_max = CTP_FDS_MAX;
	e->cands_max = CTP_CANDS_MAX;
	e->modules_max = CTP_MODULES_MAX;
	e->stacks_max = CTP_STACKS_MAX;
	e->stack_words_max = CTP_STACK_WORDS;
	e->ring_bytes = ring_bytes;
	e->states_off = part(&end, (uint64_t)all * sizeof(struct ctp_state));
	e->threads_off = part(&end, (uint64_t)e->threads_max * sizeof(struct ctp_thread));
	e->fds_off = part(&end, (uint64_t)e->fds_max * sizeof(struct ctp_fd));
	e->cands_off = part(&end, (uint64_t)e->cands_max * sizeof(struct ctp_cand));
	e->modules_off = part(&end, (uint64_t)e->modules_max * sizeof(struct ctp_module));
	e->stack_index_off = part(&end, (uint64_t)e->stacks_max * sizeof(uint32_t));
	e->stack_words_off = part(&end, (uint64_t)e->stack_words_max * sizeof(uint64_t));
	e->incidents_max = CTP_INCIDENTS_MAX;
	e->incidents_off = part(&end, (uint64_t)e->incidents_max * sizeof(struct ctp_incident));
	e->sites_off = part(&end, (uint64_t)e->stacks_max * sizeof(struct ctp_site));
	e->names_off = part(&end, CTP_NAMES_MAP_BYTES + (uint64_t)all * sizeof(struct ctp_name));
	e->functions_max = CTP_SWITCH_FUNCTIONS_MAX;
	e->functions_off = part(&end, (uint64_t)e->functions_max * sizeof(struct ctp_switch_function));
	e->frames_max = CTP_BIRTHS_MAX;
	e->frames_off = part(&end, (uint64_t)e->frames_max * sizeof(struct ctp_birth));
	e->destroyed_max = CTP_DESTROYED_MAX;
	e->destroyed_off = part(&end, (uint64_t)e->destroyed_max * sizeof(struct ctp_destroyed));
	e->events_max = CTP_EVENTS_MAX;
	e->events_off = part(&end, sizeof(struct ctp_event_choice) +
					   (uint64_t)e->events_max * sizeof(struct ctp_event_row));
	e->guest_bytes = GUEST_BYTES;
	e->guest_off = part(&end, e->guest_bytes);
	e->rings_off = part(&end, (uint64_t)e->threads_max * ring_bytes);
	e->region_bytes = part(&end, 0);
	e->magic = CTP_EXT_MAGIC;
	ctp_store64(&header->magic, CTP_MAGIC);
}

// True if n things of `each` bytes at `off` lie inside the region, aligned.
static bool fits(uint64_t bytes, uint64_t off, uint64_t n, uint64_t each)
{
	return off % 64 == 0 && off >= CTP_HEADER_BYTES && off <= bytes && n * each <= bytes - off;
}

// Does all that the extension names lie inside the region, as large as it may be?
static bool laid_out(const struct ctp_ext *e, uint64_t bytes)
{
	return e->bytes >= (e->version < CTP_EXT_VERSION ? CTP_EXT_BYTES_READ : sizeof(*e)) &&
	       e->region_bytes <= bytes && e->ring_bytes >= PAGE && !(e->ring_bytes & (e->ring_bytes - 1)) &&
	       e->stations_max <= CTP_STATIONS_LIMIT + CTP_STATIONS_NATIVE &&
	       fits(bytes, CTP_HEADER_BYTES, e->stations_max, CTP_STATION_BYTES) &&
	       fits(bytes, e->states_off, e->stations_max, sizeof(struct ctp_state)) &&
	       e->threads_max <= CTP_THREADS_MAX &&
	       fits(bytes, e->threads_off, e->threads_max, sizeof(struct ctp_thread)) &&
	       fits(bytes, e->fds_off, e->fds_max, sizeof(struct ctp_fd)) &&
	       fits(bytes, e->cands_off, e->cands_max, sizeof(struct ctp_cand)) &&
	       fits(bytes, e->modules_off, e->modules_max, sizeof(struct ctp_module)) &&
	       fits(bytes, e->stack_index_off, e->stacks_max, sizeof(uint32_t)) &&
	       fits(bytes, e->stack_words_off, e->stack_words_max, sizeof(uint64_t)) &&
	       fits(bytes, e->incidents_off, e->incidents_max, sizeof(struct ctp_incident)) &&
	       !(e->incidents_max & (e->incidents_max - 1)) &&
	       fits(bytes, e->sites_off, e->stacks_max, sizeof(struct ctp_site)) &&
	       (!e->names_off ||
		fits(bytes, e->names_off, CTP_NAMES_MAP_BYTES / sizeof(struct ctp_name) + e->stations_max,
		     sizeof(struct ctp_name))) &&
	       (!e->functions_off ||
		fits(bytes, e->functions_off, e->functions_max, sizeof(struct ctp_switch_function))) &&
	       (!e->frames_off ||
		(e->frames_max >= CTP_BIRTHS_GROUP && !(e->frames_max & (e->frames_max - 1)) &&
		 fits(bytes, e->frames_off, e->frames_max, sizeof(struct ctp_birth)))) &&
	       (!e->destroyed_off ||
		fits(bytes, e->destroyed_off, e->destroyed_max, sizeof(struct ctp_destroyed))) &&
	       (!e->events_off ||
		fits(bytes, e->events_off,
		     sizeof(struct ctp_event_choice) / sizeof(struct ctp_event_row) + e->events_max,
		     sizeof(struct ctp_event_row))) &&
	       fits(bytes, e->guest_off, e->guest_bytes, 1) &&
	       fits(bytes, e->rings_off, e->threads_max, e->ring_bytes) &&
	       e->chunks <= ctp_chunks_max((uint64_t)e->threads_max * e->ring_bytes);
}

static int open_from(struct ctp_region *r, void *base, uint64_t bytes, uint32_t oldest)
{
	struct ctp_header *h = base;
	if (bytes < CTP_HEADER_BYTES || ctp_load64(&h->magic) != CTP_MAGIC || h->version != CTP_VERSION)
		return -EPROTO;
	const struct ctp_ext e = h->ext; // one copy: what is checked is what is used
	if (e.magic == CTP_EXT_MAGIC && (e.version < oldest || e.version > CTP_EXT_VERSION))
		return -EPROTONOSUPPORT;
	if (e.magic != CTP_EXT_MAGIC || !laid_out(&e, bytes))
		return -EPROTO;
	unsigned char *b = base;
	*r = (struct ctp_region){
		.base = b,
		.bytes = e.region_bytes,
		.header = h,
		.ext = &h->ext,
		.stations = (void *)(b + CTP_HEADER_BYTES),
		.states = (void *)(b + e.states_off),
		.threads = (void *)(b + e.threads_off),
		.fds = (void *)(b + e.fds_off),
		.cands = (void *)(b + e.cands_off),
		.modules = (void *)(b + e.modules_off),
		.stack_index = (void *)(b + e.stack_index_off),
		.stack_words = (void *)(b + e.stack_words_off),
		.incidents = (void *)(b + e.incidents_off),
		.names_map = e.names_off ? (void *)(b + e.names_off) : NULL,
		.names = e.names_off ? (void *)(b + e.names_off + CTP_NAMES_MAP_BYTES) : NULL,
		.event_choice = e.events_off ? (void *)(b + e.events_off) : NULL,
		.events = e.events_off ? (void *)(b + e.events_off + sizeof(struct ctp_event_choice)) : NULL,
		.events_max = e.events_off ? e.events_max : 0,
		.sites = (void *)(b + e.sites_off),
		.functions = e.functions_off ? (void *)(b + e.functions_off) : NULL,
		.functions_max = e.functions_off ? e.functions_max : 0,
		.births = e.frames_off ? (void *)(b + e.frames_off) : NULL,
		.births_max = e.frames_off ? e.frames_max : 0,
		.destroyed = e.destroyed_off ? (void *)(b + e.destroyed_off) : NULL,
		.destroyed_max = e.destroyed_off ? e.destroyed_max : 0,
		.incidents_max = e.incidents_max,
		.rings = b + e.rings_off,
		.guest = b + e.guest_off,
		.guest_bytes = e.guest_bytes,
		.stations_max = e.stations_max,
		.threads_max = e.threads_max,
		.fds_max = e.fds_max,
		.cands_max = e.cands_max,
		.modules_max = e.modules_max,
		.stacks_max = e.stacks_max,
		.stack_words_max = e.stack_words_max,
		.ring_bytes = e.ring_bytes,
		.ring_capacity = e.ring_bytes / sizeof(struct ctp_record),
		.chunks = e.chunks,
	};
	return 0;
}

int ctp_region_open(struct ctp_region *r, void *base, uint64_t bytes)
{
	return open_from(r, base, bytes, CTP_EXT_VERSION);
}

int ctp_region_read(struct ctp_region *r, void *base, uint64_t bytes)
{
	return open_from(r, base, bytes, CTP_EXT_VERSION_READ);
}

uint64_t ctp_region_moves(const struct ctp_region *r)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	uint64_t sum = n;
	for (uint32_t i = 0; i < n && i < r->threads_max; i++) {
		const struct ctp_thread *t = &r->threads[i];
		sum += ctp_load64(&t->switches) + ctp_load64(&t->wait_seq) + ctp_load64(&t->events);
	}
	return sum;
}

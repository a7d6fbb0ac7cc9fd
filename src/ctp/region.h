// SPDX-License-Identifier: MIT
//
// region.h - lays out a region and finds its parts, for whoever makes one: ctp-run, or
// libctp.so if it is preloaded alone.
#pragma once

#include <stdbool.h>

#include "ctp/ctp.h"

struct ctp_there;

// A side's own view of a mapped region: offsets are read once, checked, and
// kept here, so that nothing later depends on what the other side writes.
struct ctp_region {
	unsigned char *base;
	uint64_t bytes;
	struct ctp_header *header;
	struct ctp_ext *ext;
	struct ctp_station *stations;
	struct ctp_state *states; // stations_max, as stations
	struct ctp_thread *threads;
	struct ctp_fd *fds;
	struct ctp_cand *cands;
	struct ctp_module *modules;
	uint32_t *stack_index;
	uint64_t *stack_words;
	struct ctp_incident *incidents;
	struct ctp_site *sites;
	struct ctp_switch_function *functions; // NULL in a region that has none
	struct ctp_birth *births;              // the same
	struct ctp_destroyed *destroyed;       // the same
	uint64_t *names_map;                   // NULL in a region that has no names
	struct ctp_name *names;
	struct ctp_event_choice *event_choice; // NULL in a region that has no events
	struct ctp_event_row *events;
	uint32_t events_max;
	unsigned char *rings;
	unsigned char *guest;
	uint64_t guest_bytes;
	uint32_t stations_max, threads_max, fds_max, cands_max, modules_max, stacks_max;
	uint32_t stack_words_max, ring_bytes, incidents_max, functions_max, births_max, destroyed_max;
	uint64_t ring_capacity;  // slots
	uint32_t chunks;         // --flight; else 0
	struct ctp_there *there; // what of it is memory, for whoever must not make more of it (there.h);
				 // NULL: all of it
};

// Fills header and descriptor for a zeroed region with this many stations.
// region_bytes is then the size to give the file. ring_bytes: power of two,
// at least 4096. Clock, options and pids are left to the caller.
void ctp_region_layout(struct ctp_header *header, uint32_t stations, uint32_t ring_bytes);

// Fills *r from a mapped region of `bytes`. 0; -EPROTO if its magic is not right or any
// offset is out of bounds; -EPROTONOSUPPORT if another version of ctp made it.
int ctp_region_open(struct ctp_region *r, void *base, uint64_t bytes);
// The same for who only reads: also where a ctp made it whose layout is older, but still read.
int ctp_region_read(struct ctp_region *r, void *base, uint64_t bytes);

// Changes whenever a thread comes, switches, begins or ends a wait, or is given events.
uint64_t ctp_region_moves(const struct ctp_region *r);

static inline struct ctp_record *ctp_region_ring(const struct ctp_region *r, uint32_t thread)
{
	return (struct ctp_record *)(r->rings + (uint64_t)thread * r->ring_bytes);
}

// SPDX-License-Identifier: MIT
//
// station.h - gives stations to entities, and takes back those of dead ones.
#pragma once

#include "preload/guest/guest.h"

int station_init(void); // 0, or -1 if there is no memory

// The state of station `number` - 1; NULL for 0. Numbers past the region's
// stations are private ones: they work, but the engine cannot see them.
struct ctp_state *station_at(uint32_t number);

// A station for a new entity, with id, entity, station, owner and created
// filled in and all else zero; NULL if even private memory is used up.
struct ctp_state *station_new(enum ctp_entity entity);

// Gives back the station of an entity that is finished or destroyed. It stays
// readable until it is needed again, oldest first.
void station_retire(struct ctp_state *s);

// Its station in the memory that is shared with an engine that knows version 1 only; else NULL.
static inline struct ctp_station *station_shared(const struct ctp_state *s)
{
	const struct ctp_region *r = &ctp_tracer->region;
	return CTP_UNLIKELY(ctp_tracer->v1) && s->station < r->stations_max ? &r->stations[s->station] : NULL;
}

// How many stations were ever handed out (numbers 1 to this).
uint32_t station_count(void);

// SPDX-License-Identifier: MIT
//
// A version-1 probe maps 1024 + 1024 * max_stations bytes: less than the engine made, and
// nothing of the tables. Each station's newest slot is its coroutine's present state. What a
// probe says of a dead one's past (running or not) no longer counts.
#include "ps/read/probes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ctp/region.h"

enum { PIECE = 64 };

bool probes_alone(struct ctp_header *h, uint64_t bytes)
{
	uint64_t least = sizeof(*h) + (uint64_t)h->max_stations * sizeof(struct ctp_station);
	bool is = h->magic == CTP_MAGIC && h->version == CTP_VERSION && h->max_stations && bytes >= least &&
		  bytes - least < 4096 && !h->ext.guest_pid; // whole pages are mapped
	if (is)
		memset(&h->ext, 0, sizeof(h->ext));
	return is;
}

// The slot with the highest number that is not being written, or NULL.
static const struct ctp_slot *newest(const struct ctp_station *s)
{
	const struct ctp_slot *best = NULL;
	uint64_t most = 0;
	for (unsigned i = 0; i < CTP_SLOTS; i++) {
		uint64_t n = s->slots[i].seq / 2 * CTP_SLOTS + i;
		if (s->slots[i].seq && !(s->slots[i].seq & 1) && (!best || n > most)) {
			best = &s->slots[i];
			most = n;
		}
	}
	return best;
}

static int take(struct tables *t, const struct ctp_station *s, uint64_t index, bool settled)
{
	const struct ctp_slot *last = newest(s);
	char name[40];
	if (!s->probe_id)
		return 0;
	t->finished += s->is_dead != 0;
	if (s->is_dead)
		return 0;
	uint8_t life = !last ? CTP_CREATED : last->is_active ? CTP_RUNNING : CTP_SUSPENDED;
	t->created += life == CTP_CREATED;
	t->running += life == CTP_RUNNING;
	t->suspended += life == CTP_SUSPENDED;
	if (GROW(t->coroutines, t->n, t->capacity))
		return -ENOMEM;
	struct coroutine *c = &t->coroutines[t->n++];
	uint64_t since = last ? last->timestamp_ns : s->birth_ts;
	snprintf(name, sizeof(name), "probe 0x%" PRIx64, s->probe_id);
	*c = (struct coroutine){
		.id = index + 1,
		.changes = last ? (last->seq / 2 - 1) * CTP_SLOTS + (uint64_t)(last - s->slots) + 1 : 0,
		.entry = last ? last->addr : 0,
		.thread = last ? (uint32_t)last->tid : 0,
		.life = life,
		.since_ns = t->clock.ns1 > since ? t->clock.ns1 - since : 0,
		.station = (uint32_t)index,
		.settled = settled,
		.name = strdup(name),
	};
	t->unsettled += !settled;
	return c->name ? 0 : -ENOMEM;
}

int probes_read(struct tables *t, const struct found *f)
{
	uint32_t asked = f->header.allocated_count, max = f->header.max_stations;
	uint64_t n = asked < max ? asked : max;
	struct ctp_station *two = malloc(2 * PIECE * sizeof(*two));
	int e = two ? 0 : -ENOMEM;
	t->unplaced = asked > max ? asked - max : 0;
	for (uint64_t at = 0; !e && at < n; at += PIECE) {
		uint64_t rows = n - at < PIECE ? n - at : PIECE, off = sizeof(f->header) + at * sizeof(*two);
		for (int i = 0; !e && i < 2; i++)
			e = source_read(&f->region, off, two + i * PIECE, rows * sizeof(*two));
		for (uint64_t i = 0; !e && i < rows; i++)
			e = take(t, &two[PIECE + i], at + i, !memcmp(&two[i], &two[PIECE + i], sizeof(*two)));
	}
	free(two);
	return e;
}

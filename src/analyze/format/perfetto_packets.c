// SPDX-License-Identifier: MIT
//
// Field numbers are those of perfetto's protos/perfetto/trace. A time before the last one of its sequence is
// written in full. A sequence that knows very many texts begins anew.
#include "analyze/format/perfetto_packets.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/report/run_identity.h"
#include "base/grow.h"

#define FLUSH_BYTES (64u << 10)
#define NAMES_MOST (1u << 16) // of a sequence; then it begins to count them anew

enum { CLOCK_WALL = 1, CLOCK_ABSOLUTE = 3, CLOCK_DELTAS = 64 }; // REALTIME, MONOTONIC, the sequence's own
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum trace_packet { // TracePacket, as far as it is written; Trace.packet is 1
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum interned_data { INTERNED_NAMES = 2, INTERNED_ANNOTATIONS = 3, INTERNED_TEXTS = 29 };

static const char *const annotations[] = {
	"left", "stack", "coroutine", "thread", "fd", "how", "verdict", "fingerprint", "message",
};

struct perfetto_sequence *perfetto_sequence(struct perfetto *o, size_t number)
{
	while (o->n <= number) {
		if (GROW(o->sequences, o->n, o->capacity)) {
			o->error = -ENOMEM;
			return o->sequences;
		}
		o->sequences[o->n++] = (struct perfetto_sequence){0};
	}
	return &o->sequences[number];
}

// ------------------------------------------------------------------ packets

static void open_packet(struct perfetto *o, const struct perfetto_sequence *s, unsigned flags)
{
	o->packet = protobuf_begin(&o->packets, 1);
	protobuf_uint(&o->packets, PACKET_SEQUENCE_ID, (uint64_t)(s - o->sequences) + 1);
	if (flags)
		protobuf_uint(&o->packets, PACKET_SEQUENCE_FLAGS, flags);
}

static void close_packet(struct perfetto *o)
{
	struct protobuf *p = &o->packets;
	if (o->interned.n)
		protobuf_bytes(p, PACKET_INTERNED, o->interned.bytes, o->interned.n);
	o->interned.n = 0;
	protobuf_end(p, o->packet);
	o->error = o->error ? o->error : p->error ? p->error : o->interned.error;
	if (p->n < FLUSH_BYTES || o->error)
		return;
	fwrite(p->bytes, 1, p->n, o->to);
	p->n = 0;
}

// From here on times are told from `ns` on, and all texts anew.
static void begin_sequence(struct perfetto *o, struct perfetto_sequence *s, uint64_t ns)
{
	struct protobuf *p = &o->packets;
	uint64_t wall = run_identity_wall_ns(o->world, ns);
	idmap_deinit(&s->names);
	idmap_deinit(&s->texts);
	s->annotations = 0;
	s->begun = true;
	s->last_ns = ns;
	open_packet(o, s, SEQUENCE_CLEARED);
	size_t snapshot = protobuf_begin(p, PACKET_CLOCK_SNAPSHOT);
	size_t clock = protobuf_begin(p, 1);
	protobuf_uint(p, 1, CLOCK_ABSOLUTE);
	protobuf_uint(p, 2, ns);
	protobuf_end(p, clock);
	clock = protobuf_begin(p, 1);
	protobuf_uint(p, 1, CLOCK_DELTAS);
	protobuf_uint(p, 2, ns);
	protobuf_uint(p, 3, 1); // is_incremental
	protobuf_end(p, clock);
	if (wall) {
		clock = protobuf_begin(p, 1);
		protobuf_uint(p, 1, CLOCK_WALL);
		protobuf_uint(p, 2, wall);
		protobuf_end(p, clock);
	}
	protobuf_uint(p, 2, CLOCK_ABSOLUTE); // the clock of the trace
	protobuf_end(p, snapshot);
	size_t defaults = protobuf_begin(p, PACKET_DEFAULTS);
	protobuf_uint(p, PACKET_CLOCK_ID, CLOCK_DELTAS);
	if (s->track) {
		size_t events = protobuf_begin(p, PACKET_TRACK_EVENT);
		protobuf_uint(p, EVENT_TRACK, s->track);
		protobuf_end(p, events);
	}
	protobuf_end(p, defaults);
	close_packet(o);
}

void perfetto_open_track(struct perfetto *o, uint64_t track, uint64_t parent, const char *name)
{
	struct protobuf *p = &o->packets;
	open_packet(o, o->sequences, 0);
	o->event = protobuf_begin(p, PACKET_TRACK_DESCRIPTOR);
	protobuf_uint(p, TRACK_UUID, track);
	if (parent)
		protobuf_uint(p, TRACK_PARENT, parent);
	if (name)
		protobuf_string(p, TRACK_NAME, name);
}

void perfetto_close(struct perfetto *o)
{
	protobuf_end(&o->packets, o->event);
	close_packet(o);
}

void perfetto_open_event(struct perfetto *o, struct perfetto_sequence *s, uint64_t ns, unsigned type,
			 uint64_t track)
{
	struct protobuf *p = &o->packets;
	if (!s->begun || s->names.n + s->texts.n > NAMES_MOST)
		begin_sequence(o, s, ns > s->last_ns ? ns : s->last_ns);
	open_packet(o, s, SEQUENCE_NEEDS_STATE);
	if (ns >= s->last_ns) {
		protobuf_uint(p, PACKET_TIMESTAMP, ns - s->last_ns);
		s->last_ns = ns;
	} else {
		protobuf_uint(p, PACKET_TIMESTAMP, ns);
		protobuf_uint(p, PACKET_CLOCK_ID, CLOCK_ABSOLUTE);
	}
	o->event = protobuf_begin(p, PACKET_TRACK_EVENT);
	protobuf_uint(p, EVENT_TYPE, type);
	if (track != s->track)
		protobuf_uint(p, EVENT_TRACK, track);
}

bool perfetto_knows(const struct perfetto_sequence *s, uint64_t key)
{
	return idmap_get(&s->names, key) != IDMAP_NONE;
}

// A text that comes up for the first time in its sequence: from now on a number says it.
static uint64_t intern_text(struct perfetto *o, struct idmap *known, unsigned field, uint64_t key,
			    const char *text)
{
	uint32_t iid = (uint32_t)known->n + 1;
	if (idmap_set(known, key, iid))
		o->error = -ENOMEM;
	size_t at = protobuf_begin(&o->interned, field);
	protobuf_uint(&o->interned, 1, iid);
	protobuf_string(&o->interned, 2, text);
	protobuf_end(&o->interned, at);
	return iid;
}

void perfetto_name(struct perfetto *o, struct perfetto_sequence *s, uint64_t key, const char *text)
{
	uint64_t iid = idmap_get(&s->names, key);
	if (iid == IDMAP_NONE)
		iid = intern_text(o, &s->names, INTERNED_NAMES, key, text);
	protobuf_uint(&o->packets, EVENT_NAME_IID, iid);
}

static size_t open_note(struct perfetto *o, struct perfetto_sequence *s, enum annotation a)
{
	if (!(s->annotations & 1u << a)) {
		s->annotations |= 1u << a;
		size_t at = protobuf_begin(&o->interned, INTERNED_ANNOTATIONS);
		protobuf_uint(&o->interned, 1, a + 1);
		protobuf_string(&o->interned, 2, annotations[a]);
		protobuf_end(&o->interned, at);
	}
	size_t note = protobuf_begin(&o->packets, EVENT_ANNOTATION);
	protobuf_uint(&o->packets, 1, a + 1);
	return note;
}

void perfetto_note(struct perfetto *o, struct perfetto_sequence *s, enum annotation a, const char *text)
{
	size_t note = open_note(o, s, a);
	protobuf_string(&o->packets, 6, text);
	protobuf_end(&o->packets, note);
}

void perfetto_number(struct perfetto *o, struct perfetto_sequence *s, enum annotation a, uint64_t v)
{
	size_t note = open_note(o, s, a);
	protobuf_uint(&o->packets, 3, v);
	protobuf_end(&o->packets, note);
}

void perfetto_known_note(struct perfetto *o, struct perfetto_sequence *s, enum annotation a, enum text_of of,
			 uint64_t id, const char *text)
{
	uint64_t key = (uint64_t)of << 56 | id, iid = idmap_get(&s->texts, key);
	if (iid == IDMAP_NONE)
		iid = intern_text(o, &s->texts, INTERNED_TEXTS, key, text);
	size_t note = open_note(o, s, a);
	protobuf_uint(&o->packets, 17, iid);
	protobuf_end(&o->packets, note);
}

int perfetto_end(struct perfetto *o)
{
	if (!o->error && o->packets.n)
		fwrite(o->packets.bytes, 1, o->packets.n, o->to);
	for (size_t i = 0; i < o->n; i++) {
		idmap_deinit(&o->sequences[i].names);
		idmap_deinit(&o->sequences[i].texts);
	}
	free(o->sequences);
	protobuf_deinit(&o->packets);
	protobuf_deinit(&o->interned);
	return o->error;
}

// SPDX-License-Identifier: MIT
//
// perfetto_packets.h - packets of a Perfetto trace: tracks and events, in sequences whose times are
// differences and whose texts are numbers. What is open is written to until it is closed; one thing is open
// at a time.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/idmap.h"
#include "base/protobuf.h"
#include "trace/world.h"

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };
enum track_event {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};
enum track_descriptor {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_ORDERING = 11,
	TRACK_RANK = 12,
};
enum { ORDER_BY_TIME = 2, ORDER_EXPLICIT = 3 };

enum annotation {
	NOTE_LEFT,
	NOTE_STACK,
	NOTE_COROUTINE,
	NOTE_THREAD,
	NOTE_FD,
	NOTE_HOW,
	NOTE_VERDICT,
	NOTE_FINGERPRINT,
	NOTE_MESSAGE
};

// What a text is of; with the number of that it is its key.
enum text_of { TEXT_PLACE = 1, TEXT_STACK, TEXT_WHO };

struct perfetto_sequence {       // of packets; of no use but here
	uint64_t last_ns, track; // track: of events that name none
	bool begun;
	uint32_t annotations; // that were told, by bit
	struct idmap names, texts;
};

struct perfetto {
	FILE *to;
	const struct world *world;
	struct protobuf packets, interned;
	size_t packet, event;                // that are being written
	struct perfetto_sequence *sequences; // by number
	size_t n, capacity;
	int error;
};

// The answer is good until the next one is asked for.
struct perfetto_sequence *perfetto_sequence(struct perfetto *o, size_t number);

void perfetto_open_track(struct perfetto *o, uint64_t track, uint64_t parent, const char *name);
// Texts and notes that belong to an event are written to its sequence while it is open.
void perfetto_open_event(struct perfetto *o, struct perfetto_sequence *s, uint64_t ns, unsigned type,
			 uint64_t track);
void perfetto_close(struct perfetto *o); // a track or an event

// A name that many events have; text: NULL if the sequence knows the key already.
bool perfetto_knows(const struct perfetto_sequence *s, uint64_t key);
void perfetto_name(struct perfetto *o, struct perfetto_sequence *s, uint64_t key, const char *text);
void perfetto_note(struct perfetto *o, struct perfetto_sequence *s, enum annotation a, const char *text);
void perfetto_number(struct perfetto *o, struct perfetto_sequence *s, enum annotation a, uint64_t v);
// A text of many events: `of` what it is, `id` of whom or which.
void perfetto_known_note(struct perfetto *o, struct perfetto_sequence *s, enum annotation a, enum text_of of,
			 uint64_t id, const char *text);

// Writes what is left, and frees all. 0, or the first error.
int perfetto_end(struct perfetto *o);

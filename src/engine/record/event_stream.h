// SPDX-License-Identifier: MIT
//
// event_stream.h - records of events as events of a CTF stream, with typed fields (spec/trace.md, stream 2).
#pragma once

#include "engine/record/event_classes.h"
#include "engine/record/writer.h"

// Which class a row of the present region is.
struct event_rows {
	const struct event_class *of[CTP_EVENTS_MAX];
};

// A packet's content.
struct event_packet {
	unsigned char *bytes;
	size_t n, room;
	uint64_t begin, end; // times of the first and the last
	uint32_t events;
	uint32_t unknown; // records of no event that is known: left out
};

// Adds b's events to an empty *p. 0 or -ENOMEM.
int event_packet_fill(struct event_packet *p, const struct writer_batch *b, struct event_rows *rows,
		      struct event_classes *classes, const struct ctp_region *region);
void event_packet_deinit(struct event_packet *p);

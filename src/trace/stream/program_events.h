// SPDX-License-Identifier: MIT
//
// program_events.h - the events of the program's own (spec/trace.md, stream 2): their classes, and how what
// one says is read.
#pragma once

#include <stdbool.h>

#include "ctp/ctp.h"
#include "trace/stream/stream.h"

struct program_field {
	char *name, *type;
	uint8_t kind, bytes; // enum ctp_field
};

struct program_class {
	uint64_t id;
	char *provider, *name, *file;
	uint32_t line;
	unsigned nfields;
	struct program_field fields[CTP_EVENT_ROW_FIELDS];
	uint64_t count; // events of it in the trace
};

struct program_classes {
	struct program_class *items; // by id
	size_t n, capacity;
	uint64_t bad_lines, unreadable; // unreadable: events that say what no class does
};

// Of the folder ctp/ of a trace. No such file: none. 0 or -errno.
int program_classes_read(struct program_classes *c, int folder);
void program_classes_deinit(struct program_classes *c);
// The one of PROVIDER:NAME. NULL: there is none.
const struct program_class *program_classes_find(const struct program_classes *c, const char *called);

struct program_event {
	const struct program_class *class;
	uint64_t time, coroutine; // ticks; 0: a thread that has never switched
	const unsigned char *at;  // what it says
};

struct program_value {
	uint64_t word;    // of a number or a pointer: signed ones with their sign; a double's bits
	const char *text; // a text, or bytes
	size_t bytes;     // of it
	uint64_t whole;   // of bytes: how many there were
};
// What the event's field i says, for each of its class.
void program_event_values(const struct program_event *e, struct program_value values[CTP_EVENT_ROW_FIELDS]);
// "path = \"/x\", status = 200"
void program_event_text(const struct program_event *e, char *buf, size_t bytes);
// What a field says, as text: bytes as hexadecimal digits. What is not printable is a question mark.
const char *program_value_text(const struct program_field *f, const struct program_value *v, char *buf,
			       size_t bytes);

// The events of one packet after the other.
struct program_packet {
	unsigned char *bytes;
	size_t room;
	struct program_event *events;
	size_t n, capacity;
	uint64_t unreadable;
	uint32_t tid;
};
// 1, 0: no more, -errno. What it holds is good until the next.
int program_packet_next(struct program_packet *p, struct stream_reader *r, const struct program_classes *c);
void program_packet_deinit(struct program_packet *p);

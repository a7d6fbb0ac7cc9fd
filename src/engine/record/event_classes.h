// SPDX-License-Identifier: MIT
//
// event_classes.h - the events of the program's own that stand in a trace, each once, whatever the processes
// and images that have it: its number is the event's id in all streams of events (spec/trace.md).
#pragma once

#include <stdio.h>

#include "ctp/region.h"

enum { EVENT_STREAM_ID = 2 };

struct event_field {
	const char *type, *name;
	uint8_t kind, bytes; // enum ctp_field
};

struct event_class {
	uint32_t id, line;
	const char *provider, *name, *file;
	unsigned nfields;
	struct event_field fields[CTP_EVENT_ROW_FIELDS];
	uint32_t numbers_bytes; // of all fields, if none is a text or bytes; else 0
	uint32_t text_bytes;
	char text[CTP_EVENT_ROW_TEXT + 1];
};

struct event_classes {
	struct event_class **items;
	size_t n, room;
};

void event_classes_deinit(struct event_classes *c);
// That of a row of a region, which is read as hostile. NULL: the row is no event, or there is no memory.
const struct event_class *event_classes_of(struct event_classes *c, const struct ctp_region *r, uint32_t row);
// That of a USDT probe of the file `file`. Types and names of fields are not copied. NULL: it cannot be one,
// or there is no memory.
const struct event_class *event_classes_usdt(struct event_classes *c, const char *provider, const char *name,
					     const char *file, const struct event_field *fields, unsigned n);
// The descriptions of all, for any CTF reader.
void event_classes_print(const struct event_classes *c, FILE *f);
// Writes ctp/events.jsonl. 0 or -errno.
int event_classes_write(const struct event_classes *c, int dir);

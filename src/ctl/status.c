// SPDX-License-Identifier: MIT
//
// One line each: whose, recording or not, what was seen, where it goes, which events.
#include "ctl/status.h"

#include <inttypes.h>

#include "base/text.h"

static uint64_t number(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));
	return v > 0 ? (uint64_t)v : 0;
}

// Fit for a terminal.
static const char *word(const json_t *o, const char *key, char *buf, size_t bytes)
{
	const char *s = json_string_value(json_object_get(o, key));
	snprintf(buf, bytes, "%s", s ? s : "");
	text_clean(buf);
	return buf;
}

static void size(uint64_t bytes, char *buf, size_t room)
{
	if (bytes < 1000000)
		snprintf(buf, room, "%.0f KB", (double)bytes / 1e3);
	else if (bytes < 1000000000)
		snprintf(buf, room, "%.1f MB", (double)bytes / 1e6);
	else
		snprintf(buf, room, "%.1f GB", (double)bytes / 1e9);
}

static void print_recording(const json_t *r, FILE *to)
{
	char since[64], state[16], all[32], stopped[32];
	uint64_t stops = number(r, "stops");
	text_duration(all, sizeof(all), number(r, "ns"));
	fprintf(to, "recording: %s; since %s (%s)\n", word(r, "state", state, sizeof(state)),
		word(r, "since", since, sizeof(since)), all);
	if (!stops)
		return;
	text_duration(stopped, sizeof(stopped), number(r, "stopped_ns"));
	fprintf(to,
		"stopped: %" PRIu64 " time%s, %s in all: %" PRIu64
		" records of that time are not in the history\n",
		stops, stops == 1 ? "" : "s", stopped, number(r, "not_recorded"));
}

static void print_output(const json_t *status, FILE *to)
{
	const json_t *o = json_object_get(status, "output");
	char path[4096], bytes[32], most[32];
	size(number(o, "bytes"), bytes, sizeof(bytes));
	size(number(o, "max_bytes"), most, sizeof(most));
	fprintf(to, "trace: %s, %s, history of at most %s\n", word(o, "path", path, sizeof(path)), bytes,
		most);
	if (number(status, "flight_bytes")) {
		size(number(status, "flight_bytes"), bytes, sizeof(bytes));
		fprintf(to, "flight: the newest %s of history are kept in memory\n", bytes);
	}
}

void status_print(const json_t *status, FILE *to)
{
	char program[4096], way[32], list[4096];
	fprintf(to, "pid %" PRIu64 "  %s  (%s, ctp-run %" PRIu64 ")\n", number(status, "pid"),
		word(status, "program", program, sizeof(program)), word(status, "way", way, sizeof(way)),
		number(status, "ctp_run"));
	print_recording(json_object_get(status, "recording"), to);
	fprintf(to, "seen: %" PRIu64 " coroutines, %" PRIu64 " switches on %" PRIu64 " threads",
		number(status, "coroutines"), number(status, "switches"), number(status, "threads"));
	if (number(status, "processes") > 1)
		fprintf(to, " of %" PRIu64 " processes", number(status, "processes"));
	fprintf(to, "; %" PRIu64 " records written, %" PRIu64 " lost\n", number(status, "records"),
		number(status, "lost"));
	print_output(status, to);
	word(status, "event_list", list, sizeof(list));
	fprintf(to, "events: %s, %" PRIu64 " written\n", *list ? list : "all", number(status, "events"));
}

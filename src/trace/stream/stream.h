// SPDX-License-Identifier: MIT
//
// stream.h - a stream of packets (spec/trace.md, "Streams").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctp/record.h"
#include "trace/stream/packet.h"

struct stream_station { // a record of stream 1
	uint64_t time;
	uint8_t kind, active, finished, reserved[5];
	uint64_t id, n, tid, addr, station_probe_id, ts_ns;
};

// What is wrong with a stream, besides its end.
struct stream_damage {
	uint64_t at;       // where it begins, if any of the others is not 0
	uint64_t missing;  // packets that are not there, or cannot be unpacked
	uint64_t repeated; // packets that were there before: left out
	uint64_t stray;    // bytes that are no packet
};

struct stream_end {
	uint64_t whole_bytes; // up to the end of the last whole packet
	uint64_t file_bytes;
	uint64_t packets;
	struct stream_damage damage;
	uint64_t discarded; // as of the last whole packet
	uint32_t tid;       // its
	dev_t device;       // of the file
	ino_t inode;
};

// What follows the process in the name of a stream, [p<process>.]t<slot>.<use>[.<k>], e<slot>...,
// u<tid>... or v1.
const char *stream_thread_part(const char *name);
enum stream_id stream_kind(const char *name);

// Reads a stream up to its last whole packet, some thousand records at a time. What is damaged
// before that costs itself alone.
struct stream_reader;
int stream_open(struct stream_reader **out, int folder, const char *name); // file_open, O_NOFOLLOW
void stream_close(struct stream_reader *r);
// 1: *records holds *n > 0 records of *packet (struct ctp_event in a stream of threads, struct
// stream_station in one of stations), until the next call. 0: the end. -errno. What is no
// record comes as an event of its kind, or of kind 0 where only a part of one is there.
int stream_next(struct stream_reader *r, const struct stream_packet **packet, const void **records,
		size_t *n);
// The same without making events: *slots holds *n > 0 slots (struct ctp_record; in a stream of
// stations, struct stream_station). No record goes beyond them, and *cursor is as of the first: the
// caller takes it past all of them before the next call.
int stream_slots(struct stream_reader *r, const struct stream_packet **packet, const void **slots, size_t *n,
		 struct ctp_cursor **cursor);
// Streams of events of the program's own are read by these alone (trace/stream/program_events.h):
// A packet at a time, and what is in it in pieces, as it is: 1, 0: no more, -errno. Not beside those above.
int stream_packet(struct stream_reader *r, const struct stream_packet **packet);
int stream_bytes(struct stream_reader *r, const void **bytes, size_t *n);
// So far; at the end, whole_bytes < file_bytes says that the rest was cut off.
const struct stream_end *stream_ended(const struct stream_reader *r);

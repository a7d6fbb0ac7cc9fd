// SPDX-License-Identifier: MIT
//
// stream.h - a stream of packets (spec/trace.md, "Streams").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctp/record.h"

#define STREAM_MAGIC 0xC1FC1FC1u
#define STREAM_HEADER_BYTES 96u

struct stream_packet {
	uint32_t magic, stream_id;
	uint64_t timestamp_begin, timestamp_end;
	uint64_t content_bits, packet_bits;
	uint64_t discarded;
	uint32_t tid, thread;
	uint64_t seq;
	uint64_t near, native, current; // what a reader must know before the first record (ctp/record.h)
	uint32_t current_n;
	uint32_t packed; // 1: what follows is packed (ctp/pack.h); content_bits is what it becomes
};

struct stream_station { // a record of stream 1
	uint64_t time;
	uint8_t kind, active, reserved[6];
	uint64_t id, n, tid, addr, station_probe_id, ts_ns;
};

enum stream_id { STREAM_THREADS = 0, STREAM_V1 = 1 };

struct stream_end {
	uint64_t whole_bytes; // up to the end of the last whole packet
	uint64_t file_bytes;
	uint64_t packets;
	uint64_t damaged; // packed ones that do not unpack: left out
	uint64_t discarded; // as of the last whole packet
	uint32_t tid;       // its
};

// Reads a stream up to its last whole packet, some thousand records at a time.
struct stream_reader;
int stream_open(struct stream_reader **out, const char *path);
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
// A packet at a time, and what is in it in pieces, as it is: 1, 0: no more, -errno. Not beside those above.
int stream_packet(struct stream_reader *r, const struct stream_packet **packet);
int stream_bytes(struct stream_reader *r, const void **bytes, size_t *n);
// So far; at the end, whole_bytes < file_bytes says that the rest was cut off.
const struct stream_end *stream_ended(const struct stream_reader *r);
// Shortens the file to whole_bytes.
int stream_repair(const char *path, const struct stream_end *end);

// SPDX-License-Identifier: MIT
//
// packet.h - the packets of a stream, by their headers (spec/trace.md, "Streams").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	uint32_t packed; // PACK_WAY: what follows is packed (codec/pack.h), content_bits is what it becomes
};

enum stream_id { STREAM_THREADS = 0, STREAM_V1 = 1, STREAM_EVENTS = 2 };

struct packet_file {
	int fd;
	uint64_t bytes;
	uint32_t stream_id; // of all its packets
};

// Reads exactly n bytes. 0, -ENODATA if the file ends before, -errno.
int packet_read(int fd, void *buf, size_t n, uint64_t at);
// The packet that begins there. 1: its header is sound, and the file holds all of it, which are *bytes; 0:
// not so; -errno.
int packet_at(const struct packet_file *f, uint64_t at, struct stream_packet *out, uint64_t *bytes);
// The next place in [from, to) where one begins. 1: *at; 0: there is none; -errno. `room` is for its own use.
int packet_find(const struct packet_file *f, uint64_t from, uint64_t to, uint64_t *at, void *room,
		size_t room_bytes);

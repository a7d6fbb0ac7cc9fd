// SPDX-License-Identifier: MIT
//
// A stream of packets. Read with pread through one buffer, not mapped: the
// writer may still shorten the file (--max-size), and a page that vanishes
// under a mapping kills the reader. Memory does not grow with the stream.
// Invariant: no record is handed out before its packet is known to be whole.
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctp/pack.h"

_Static_assert(sizeof(struct stream_packet) == STREAM_HEADER_BYTES, "packet header");

#define STREAM_BUFFER_BYTES (64u << 10)
#define STREAM_V1_RECORD_BYTES 64u
_Static_assert(sizeof(struct stream_station) == STREAM_V1_RECORD_BYTES, "record of stream 1");

// Reads exactly n bytes. 0, -ENODATA if the file ends before, -errno.
static int read_at(int fd, void *buf, size_t n, uint64_t at)
{
	for (size_t got = 0; got < n;) {
		ssize_t r = pread(fd, (char *)buf + got, n - got, (off_t)(at + got));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? -errno : -ENODATA;
		got += (size_t)r;
	}
	return 0;
}

// Bytes of the packet if the header is sound and the file holds all of it; else 0. What a packed one
// claims to become is bounded here.
static uint64_t packet_bytes(const struct stream_packet *p, uint64_t left)
{
	uint64_t least = STREAM_HEADER_BYTES * 8, most = p->packed ? least + PACK_MOST * 8ULL : p->packet_bits;
	if (p->magic != STREAM_MAGIC || p->packet_bits % 8 || p->content_bits > most || p->content_bits < least ||
	    p->packet_bits < least || p->packet_bits / 8 > left || p->packed > 1 ||
	    (p->packed && p->content_bits % (8 * sizeof(struct ctp_record))))
		return 0;
	return p->packet_bits / 8;
}

struct stream_reader {
	int fd;
	struct stream_end end;
	struct stream_packet packet;
	uint64_t at, left; // of this packet, not yet handed out: where, bytes
	struct pack *pack;    // made at the first packed packet
	const char *unpacked; // this one's content; NULL: it lies in the file
	struct ctp_cursor cursor;
	char buffer[STREAM_BUFFER_BYTES] __attribute__((aligned(8)));
	struct ctp_event events[STREAM_BUFFER_BYTES / sizeof(struct ctp_record)];
};

int stream_open(struct stream_reader **out, const char *path)
{
	struct stream_reader *r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->end = (struct stream_end){ 0 };
	r->left = 0;
	r->pack = NULL;
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (r->fd < 0 || fstat(r->fd, &st)) {
		int e = -errno;
		stream_close(r);
		return e;
	}
	r->end.file_bytes = (uint64_t)st.st_size;
	*out = r;
	return 0;
}

void stream_close(struct stream_reader *r)
{
	if (r && r->fd >= 0)
		close(r->fd);
	if (r)
		pack_free(r->pack);
	free(r);
}

// Unpacks the packet whose header was read. 1, 0: it is damaged; -errno.
static int unpack(struct stream_reader *r, uint64_t bytes)
{
	uint64_t slots = (r->packet.content_bits / 8 - STREAM_HEADER_BYTES) / sizeof(struct ctp_record);
	r->unpacked = NULL;
	if (!r->packet.packed)
		return 1;
	if (!r->pack && !(r->pack = pack_new()))
		return -ENOMEM;
	void *to = pack_room(r->pack, bytes - STREAM_HEADER_BYTES);
	if (!to)
		return 0;
	int e = read_at(r->fd, to, bytes - STREAM_HEADER_BYTES, r->end.whole_bytes + STREAM_HEADER_BYTES);
	if (e)
		return e == -ENODATA ? 0 : e;
	r->unpacked = (const char *)pack_read(r->pack, bytes - STREAM_HEADER_BYTES, slots);
	return r->unpacked != NULL;
}

// Goes on to the next whole packet; those that do not unpack are passed over. 1, 0 at the end, -errno.
static int next_packet(struct stream_reader *r)
{
	uint64_t bytes;
	for (;;) {
		int e = read_at(r->fd, &r->packet, sizeof(r->packet), r->end.whole_bytes);
		if (e)
			return e == -ENODATA ? 0 : e;
		bytes = packet_bytes(&r->packet, r->end.file_bytes - r->end.whole_bytes);
		if (!bytes)
			return 0;
		e = unpack(r, bytes);
		if (e < 0)
			return e;
		if (e)
			break;
		r->end.whole_bytes += bytes;
		r->end.damaged++;
	}
	r->at = r->unpacked ? 0 : r->end.whole_bytes + STREAM_HEADER_BYTES;
	r->left = r->packet.content_bits / 8 - STREAM_HEADER_BYTES;
	if (r->packet.stream_id == STREAM_V1)
		r->left -= r->left % STREAM_V1_RECORD_BYTES;
	r->cursor = (struct ctp_cursor){ r->packet.timestamp_begin, r->packet.near, r->packet.current, r->packet.native,
					 r->packet.current_n };
	r->end.whole_bytes += bytes;
	r->end.packets++;
	r->end.discarded = r->packet.discarded;
	r->end.tid = r->packet.tid;
	return 1;
}

// How many slots of the first `bytes` of the buffer are whole records. The first half of one stays for the
// next time, unless the packet ends here (`last`): then it is none. A slot that begins a long record is
// never the second of another, so the last one tells.
static size_t whole_slots(const struct stream_reader *r, size_t bytes, bool last)
{
	const struct ctp_record *slots = (const void *)r->buffer;
	size_t n = bytes / sizeof(*slots);
	return n - (!last && n > 1 && ctp_kind_is_long(ctp_record_kind(slots + n - 1)));
}

// The next bytes of this packet into the buffer. 1, 0: the file became shorter under us, its end is here; -errno.
static int read_content(struct stream_reader *r, size_t bytes)
{
	if (r->unpacked) {
		memcpy(r->buffer, r->unpacked + r->at, bytes);
		return 1;
	}
	int e = read_at(r->fd, r->buffer, bytes, r->at);
	return !e ? 1 : e == -ENODATA ? 0 : e;
}

int stream_slots(struct stream_reader *r, const struct stream_packet **packet, const void **slots, size_t *n,
		 struct ctp_cursor **cursor)
{
	do {
		while (!r->left) {
			int e = next_packet(r);
			if (e <= 0)
				return e;
		}
		size_t now = r->left < STREAM_BUFFER_BYTES ? (size_t)r->left : STREAM_BUFFER_BYTES;
		bool last = now == r->left;
		int e = read_content(r, now);
		if (e <= 0)
			return e;
		if (r->packet.stream_id == STREAM_V1) {
			*n = now / STREAM_V1_RECORD_BYTES;
		} else {
			*n = whole_slots(r, now, last);
			now = last ? now : *n * sizeof(struct ctp_record);
		}
		r->at += now;
		r->left -= now;
	} while (!*n);
	*packet = &r->packet;
	*slots = r->buffer;
	*cursor = &r->cursor;
	return 1;
}

int stream_packet(struct stream_reader *r, const struct stream_packet **packet)
{
	*packet = &r->packet;
	return next_packet(r);
}

int stream_bytes(struct stream_reader *r, const void **bytes, size_t *n)
{
	*n = r->left < STREAM_BUFFER_BYTES ? (size_t)r->left : STREAM_BUFFER_BYTES;
	int e = *n ? read_content(r, *n) : 0;
	*bytes = r->buffer;
	r->at += *n;
	r->left -= *n;
	return e;
}

static size_t read_events(struct stream_reader *r, const struct ctp_record *slots, size_t there)
{
	size_t n = 0;
	for (size_t i = 0; i < there; n++) {
		unsigned took = ctp_record_read(&r->cursor, slots + i, there - i, &r->events[n]);
		if (!took) {
			unsigned kind = ctp_record_kind(slots + i);
			r->events[n] = (struct ctp_event){ .kind = ctp_kind_is_long(kind) ? 0 : (uint8_t)kind };
		}
		i += took ? took : 1;
	}
	return n;
}

int stream_next(struct stream_reader *r, const struct stream_packet **packet, const void **records,
		size_t *n)
{
	struct ctp_cursor *cursor;
	int e = stream_slots(r, packet, records, n, &cursor);
	if (e > 0 && (*packet)->stream_id != STREAM_V1) {
		*n = read_events(r, *records, *n);
		*records = r->events;
	}
	return e;
}

const struct stream_end *stream_ended(const struct stream_reader *r)
{
	return &r->end;
}

int stream_repair(const char *path, const struct stream_end *end)
{
	return truncate(path, (off_t)end->whole_bytes) ? -errno : 0;
}

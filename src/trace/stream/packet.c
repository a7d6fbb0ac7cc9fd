// SPDX-License-Identifier: MIT
//
// Finds packets. A header has no checksum, so every field must be possible: a wrong size
// would turn other bytes into records.
#include "trace/stream/packet.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "codec/pack.h"
#include "ctp/record.h"

_Static_assert(sizeof(struct stream_packet) == STREAM_HEADER_BYTES, "packet header");

int packet_read(int fd, void *buf, size_t n, uint64_t at)
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

// What a packed one claims to become is bounded here.
static bool sound(const struct packet_file *f, const struct stream_packet *p, uint64_t left)
{
	uint64_t least = STREAM_HEADER_BYTES * 8, most = least + PACK_MOST * 8ULL;
	bool sizes = p->packed ? p->content_bits <= most &&
					 p->content_bits % (8 * sizeof(struct ctp_record)) == 0 :
				 p->content_bits == p->packet_bits;
	return p->magic == STREAM_MAGIC && p->stream_id == f->stream_id &&
	       (!p->packed || p->packed == PACK_WAY) && sizes && p->packet_bits % 8 == 0 &&
	       p->content_bits >= least && p->packet_bits >= least && p->packet_bits / 8 <= left;
}

int packet_at(const struct packet_file *f, uint64_t at, struct stream_packet *out, uint64_t *bytes)
{
	struct stream_packet p;
	if (at > f->bytes || f->bytes - at < sizeof(p))
		return 0;
	int e = packet_read(f->fd, &p, sizeof(p), at);
	if (e)
		return e == -ENODATA ? 0 : e;
	if (!sound(f, &p, f->bytes - at))
		return 0;
	*out = p;
	*bytes = p.packet_bits / 8;
	return 1;
}

int packet_find(const struct packet_file *f, uint64_t from, uint64_t to, uint64_t *at, void *room,
		size_t room_bytes)
{
	static const uint32_t magic = STREAM_MAGIC;
	struct stream_packet p;
	uint64_t bytes, end = to < f->bytes ? to : f->bytes;
	while (from < end && f->bytes - from >= sizeof(p)) {
		off_t data = lseek(f->fd, (off_t)from,
				   SEEK_DATA); // a hole holds no packet, and may be larger than any disk
		if (data < 0 && errno == ENXIO)
			return 0;
		if (data > (off_t)from && (from = (uint64_t)data) >= end)
			return 0;
		if (f->bytes - from < sizeof(p))
			return 0;
		size_t n = f->bytes - from < room_bytes ? (size_t)(f->bytes - from) : room_bytes;
		int e = packet_read(f->fd, room, n, from);
		if (e)
			return e == -ENODATA ? 0 : e;
		for (const char *q = room, *last = q + n;
		     (q = memmem(q, (size_t)(last - q), &magic, sizeof(magic))); q++) {
			uint64_t place = from + (uint64_t)(q - (const char *)room);
			e = place < end ? packet_at(f, place, &p, &bytes) : 0;
			if (e)
				*at = place;
			if (e)
				return e;
		}
		from += n < room_bytes ? n : n - sizeof(magic) + 1; // one may lie across the end
	}
	return 0;
}

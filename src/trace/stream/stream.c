// SPDX-License-Identifier: MIT
//
// Reads a stream with pread through one buffer. It is not mapped: ctp-run may still
// shorten the file (--max-size), and a page that vanishes below a mapping kills the
// reader. Memory does not grow with the stream.
// Invariant: no record is handed out before its packet is known to be whole.
#include "trace/stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "codec/pack.h"

#define STREAM_BUFFER_BYTES (64u << 10)
#define STREAM_V1_RECORD_BYTES 64u
#define NUMBERS_MOST (1u << 20) // more packets than a file holds do not lie between two
_Static_assert(sizeof(struct stream_station) == STREAM_V1_RECORD_BYTES, "record of stream 1");

struct stream_reader {
	struct packet_file file;
	struct stream_end end;
	uint64_t number, time; // the next packet's (packet_seq), and the last one's end
	bool counted;          // a packet was read: these two hold
	struct stream_packet packet;
	uint64_t at, left;    // of this packet, not yet handed out: where, bytes
	struct pack *pack;    // made at the first packed packet
	const char *unpacked; // this one's content; NULL: it lies in the file
	struct ctp_cursor cursor;
	char buffer[STREAM_BUFFER_BYTES] __attribute__((aligned(8)));
	struct ctp_event events[STREAM_BUFFER_BYTES / sizeof(struct ctp_record)];
};

const char *stream_thread_part(const char *name)
{
	size_t digits = *name == 'p' ? strspn(name + 1, "0123456789") : 0;
	return digits && name[1 + digits] == '.' ? name + digits + 2 : name;
}

enum stream_id stream_kind(const char *name)
{
	char letter = *stream_thread_part(name);
	return *name == 'v' ? STREAM_V1 : letter == 'e' || letter == 'u' ? STREAM_EVENTS : STREAM_THREADS;
}

int stream_open(struct stream_reader **out, int folder, const char *name)
{
	struct stream_reader *r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->end = (struct stream_end){0};
	r->left = r->number = r->time = 0;
	r->counted = false;
	r->pack = NULL;
	r->file = (struct packet_file){.stream_id = stream_kind(file_base(name))};
	r->file.fd = file_open(folder, name, O_NOFOLLOW);
	struct stat st;
	int e = r->file.fd < 0 ? r->file.fd : fstat(r->file.fd, &st) ? -errno : 0;
	if (e) {
		stream_close(r);
		return e;
	}
	r->end.device = st.st_dev;
	r->end.inode = st.st_ino;
	r->end.file_bytes = r->file.bytes = (uint64_t)st.st_size;
	*out = r;
	return 0;
}

void stream_close(struct stream_reader *r)
{
	if (r && r->file.fd >= 0)
		close(r->file.fd);
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
	int e = packet_read(r->file.fd, to, bytes - STREAM_HEADER_BYTES,
			    r->end.whole_bytes + STREAM_HEADER_BYTES);
	if (e)
		return e == -ENODATA ? 0 : e;
	r->unpacked = (const char *)pack_read(r->pack, bytes - STREAM_HEADER_BYTES, slots);
	return r->unpacked != NULL;
}

static struct stream_damage *damaged(struct stream_reader *r)
{
	struct stream_damage *d = &r->end.damage;
	if (!d->missing && !d->repeated && !d->stray)
		d->at = r->end.whole_bytes;
	return d;
}

// Passes over what is no packet. 1: one begins here; 0: there is none up to the end; -errno.
static int pass_over(struct stream_reader *r)
{
	uint64_t at;
	int e = packet_find(&r->file, r->end.whole_bytes + 1, r->file.bytes, &at, r->buffer,
			    sizeof(r->buffer));
	if (e <= 0)
		return e;
	damaged(r)->stray += at - r->end.whole_bytes;
	r->end.whole_bytes = at;
	return 1;
}

// Is this packet the next one? Its number says so, unless that is what is damaged: then the packet behind it
// (NULL: there is none) goes on as if it were right. False: it was there before.
static bool in_order(struct stream_reader *r, const struct stream_packet *behind)
{
	uint64_t n = r->packet.seq, next = r->number;
	bool continues = behind && behind->seq == n + 1;
	if (!r->counted && !r->end.damage.stray) // a file's first ones may have gone
		next = n = n && behind && !continues && behind->seq ? behind->seq - 1 : n;
	else if (!continues && behind && behind->seq == next + 1 && r->packet.timestamp_begin >= r->time)
		n = next;
	else if (n > next && n - next > NUMBERS_MOST)
		n = next;
	if (n < next)
		return false;
	if (n > next)
		damaged(r)->missing += n - next;
	r->number = n + 1;
	r->time = r->packet.timestamp_end;
	r->counted = true;
	return true;
}

// Does this packet, of *bytes, end where it says? If not, the next one lies within it: *bytes up to there. 1,
// 0, -errno.
static int ends_there(struct stream_reader *r, uint64_t *bytes, struct stream_packet *behind, int *follows)
{
	uint64_t at = r->end.whole_bytes, end = at + *bytes, size, within;
	*follows = packet_at(&r->file, end, behind, &size);
	if (*follows || end == r->file.bytes)
		return *follows < 0 ? *follows : 1;
	int e = packet_find(&r->file, at + STREAM_HEADER_BYTES, end, &within, r->buffer, sizeof(r->buffer));
	if (e > 0)
		e = packet_at(&r->file, within, behind, &size);
	if (e <= 0 || behind->seq != r->packet.seq + 1)
		return e < 0 ? e : 1;
	*bytes = within - at;
	*follows = 1;
	return 0;
}

// Takes the packet whose header was read, and of which there are *bytes. 1; 0: it is left out; -errno.
static int take_packet(struct stream_reader *r, uint64_t *bytes)
{
	struct stream_packet behind;
	int follows, whole = ends_there(r, bytes, &behind, &follows);
	if (whole < 0)
		return whole;
	if (!in_order(r, follows ? &behind : NULL)) {
		damaged(r)->repeated++;
		return 0;
	}
	int e = whole ? unpack(r, *bytes) : 0;
	if (!e)
		damaged(r)->missing++;
	return e;
}

// Goes on to the next whole packet; what is damaged is passed over. 1, 0 at the end, -errno.
static int next_packet(struct stream_reader *r)
{
	uint64_t bytes;
	for (;;) {
		int e = packet_at(&r->file, r->end.whole_bytes, &r->packet, &bytes);
		if (!e) {
			if ((e = pass_over(r)) <= 0)
				return e;
			continue;
		}
		if (e > 0)
			e = take_packet(r, &bytes);
		if (e < 0)
			return e;
		if (e)
			break;
		r->end.whole_bytes += bytes; // left out
	}
	r->at = r->unpacked ? 0 : r->end.whole_bytes + STREAM_HEADER_BYTES;
	r->left = r->packet.content_bits / 8 - STREAM_HEADER_BYTES;
	if (r->packet.stream_id == STREAM_V1)
		r->left -= r->left % STREAM_V1_RECORD_BYTES;
	r->cursor = (struct ctp_cursor){r->packet.timestamp_begin, r->packet.near, r->packet.current,
					r->packet.native, r->packet.current_n};
	r->end.whole_bytes += bytes;
	r->end.packets++;
	r->end.discarded = r->packet.discarded;
	r->end.tid = r->packet.tid;
	return 1;
}

// How many slots of the first `bytes` of the buffer are whole records. What is there of one that goes on
// behind stays for the next time, unless the packet ends here (`last`): then it is none. All slots of a
// record but the first say that they are not, so the last record is found from the end.
static size_t whole_slots(const struct stream_reader *r, size_t bytes, bool last)
{
	const struct ctp_record *slots = (const void *)r->buffer;
	size_t n = bytes / sizeof(*slots), at = n, wants = 1;
	while (at > 1 && n - at < CTP_RECORD_SLOTS && ctp_record_kind(slots + at - 1) == CTP_EV_REST)
		at--;
	if (last || at < 2)
		return n;
	unsigned kind = ctp_record_kind(slots + --at);
	if (ctp_kind_is_long(kind))
		wants = 2;
	else if (ctp_kind_is_reserved(kind) || ctp_kind_is_event(kind))
		wants = 2 + (n - at > 1 ? slots[at + 1].w0 >> 56 : 0);
	return n - at < wants ? at : n;
}

// The next bytes of this packet into the buffer. 1, 0: the file became shorter under us, its end is here;
// -errno.
static int read_content(struct stream_reader *r, size_t bytes)
{
	if (r->unpacked) {
		memcpy(r->buffer, r->unpacked + r->at, bytes);
		return 1;
	}
	int e = packet_read(r->file.fd, r->buffer, bytes, r->at);
	return !e ? 1 : e == -ENODATA ? 0 : e;
}

int stream_slots(struct stream_reader *r, const struct stream_packet **packet, const void **slots, size_t *n,
		 struct ctp_cursor **cursor)
{
	if (r->file.stream_id == STREAM_EVENTS)
		return 0;
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
			r->events[n] = (struct ctp_event){.kind = ctp_kind_is_long(kind) ? 0 : (uint8_t)kind};
		}
		i += took ? took : 1;
	}
	return n;
}

int stream_next(struct stream_reader *r, const struct stream_packet **packet, const void **records, size_t *n)
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

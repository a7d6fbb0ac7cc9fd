// SPDX-License-Identifier: MIT
//
// Records of a ring are CTF events already: a packet is a header and a copy of ring memory,
// in one write. A stream is cut into segment files (t0.0, t0.0.1, ...), so that old history
// is dropped by removing whole files, oldest first. Invariant: a file ends at the end of a
// packet, or none of that packet is shown. Files are opened for each packet, since threads
// are many and descriptors few.
#include "engine/record/ctf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/grow.h"
#include "codec/pack.h"
#include "engine/record/event_stream.h"

#define PACKET_LEAST 2048u
#define PACKET_MAX (1u << 20)
#define SEGMENT_MAX (64u << 20)
#define FREE_A_TURN (4u << 20)

struct packet_header { // spec/trace.md
	uint32_t magic, stream_id;
	uint64_t begin, end, content_bits, packet_bits, discarded;
	uint32_t tid, thread;
	uint64_t seq;
	uint64_t near, native, current; // as of its first record (ctp/record.h)
	uint32_t current_n, packed;
};
_Static_assert(sizeof(struct packet_header) == 96, "packet header");

enum segment_what { SEGMENT_THREAD, SEGMENT_EVENTS, SEGMENT_PLACED, SEGMENT_V1 };

struct segment {
	enum segment_what what;
	unsigned process;
	uint32_t slot, use, k; // SEGMENT_PLACED: slot is the thread's number
	uint64_t bytes, end_time, packets, records;
};

struct stream {
	bool open;
	uint32_t use, next_k;
	size_t segment; // index of the one being written, if has_segment
	bool has_segment;
	uint64_t last_time;
	uint64_t lost, lost_base; // running total, and what earlier segments told
};

// Events of a thread that were recorded from outside. Its number may have been another's before.
struct placed_stream {
	uint32_t tid;
	struct stream stream;
};

struct writer_process {
	struct writer_process *next, **link;
	unsigned index;
	uint32_t high;                          // no slot from here on was ever used
	struct stream streams[CTP_THREADS_MAX]; // by thread slot
	struct stream events[CTP_THREADS_MAX];
	struct placed_stream *placed;
	size_t n_placed, placed_capacity;
	struct event_rows rows;
	const struct ctp_region *const *region;
};

struct ctf {
	struct writer w;
	int dir;
	uint64_t max_bytes, total, segment_bytes;
	struct segment *segments;
	size_t n, room;
	struct writer_process *processes;
	struct stream v1;
	struct event_classes *classes;
	size_t classes_told; // so many stand in the metadata
	const struct clock_pairs *clock;
	struct event_packet packet;
	struct pack *pack;   // --compress; else NULL
	int gone;            // the file that was removed last, while its blocks are being freed; -1
	uint64_t gone_bytes; // that it still has
};

static uint64_t clamp(uint64_t v, uint64_t lo, uint64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static void segment_name(const struct segment *s, char name[48])
{
	char letter = s->what == SEGMENT_EVENTS ? 'e' : s->what == SEGMENT_PLACED ? 'u' : 't';
	int n = s->what == SEGMENT_V1 ? snprintf(name, 48, "v1") :
		s->process ? snprintf(name, 48, "p%u.%c%u.%u", s->process, letter, s->slot, s->use) :
			     snprintf(name, 48, "%c%u.%u", letter, s->slot, s->use);
	if (s->k)
		snprintf(name + n, 48 - (size_t)n, ".%u", s->k);
}

static void fail(struct ctf *c, int error, uint32_t records)
{
	if (!c->w.error)
		c->w.error = error;
	c->w.dropped_records += records;
	c->w.dropped_packets++;
}

// Segment `old` is gone, and `last` has its place.
static void moved(struct stream *t, size_t old, size_t last)
{
	if (t->has_segment && t->segment == old)
		t->has_segment = false;
	else if (t->has_segment && t->segment == last)
		t->segment = old;
}

// Freeing a large file takes longer than a busy ring takes to fill: a piece each turn.
static void free_some(struct ctf *c, uint64_t bytes)
{
	if (c->gone < 0)
		return;
	c->gone_bytes -= bytes < c->gone_bytes ? bytes : c->gone_bytes;
	if (c->gone_bytes && !ftruncate(c->gone, (off_t)c->gone_bytes))
		return;
	close(c->gone);
	c->gone = -1;
}

// Removes the file with the oldest end. The stream that was writing it, if
// any, begins another with its next packet.
static void drop_oldest(struct ctf *c)
{
	char name[48];
	free_some(c, UINT64_MAX);
	size_t old = 0;
	for (size_t i = 1; i < c->n; i++)
		if (c->segments[i].end_time < c->segments[old].end_time)
			old = i;
	struct segment s = c->segments[old];
	segment_name(&s, name);
	c->gone = openat(c->dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	c->gone_bytes = s.bytes;
	unlinkat(c->dir, name, 0);
	c->total -= s.bytes;
	c->w.dropped_packets += s.packets;
	c->w.dropped_records += s.records;
	size_t last = --c->n;
	c->segments[old] = c->segments[last];
	moved(&c->v1, old, last);
	for (struct writer_process *p = c->processes; p; p = p->next) {
		for (uint32_t i = 0; i < p->high; i++)
			moved(&p->streams[i], old, last), moved(&p->events[i], old, last);
		for (size_t i = 0; i < p->n_placed; i++)
			moved(&p->placed[i].stream, old, last);
	}
}

// The segment that takes the stream's next packet of `bytes`, called as `name` says; NULL: no memory.
static struct segment *segment_for(struct ctf *c, struct stream *t, struct segment name, uint64_t bytes)
{
	if (t->has_segment && c->segments[t->segment].bytes + bytes > c->segment_bytes)
		t->has_segment = false;
	while (c->n && c->total + bytes > c->max_bytes)
		drop_oldest(c);
	if (t->has_segment)
		return &c->segments[t->segment];
	if (c->n == c->room) {
		size_t room = c->room ? c->room * 2 : 64;
		struct segment *more = realloc(c->segments, room * sizeof(*more));
		if (!more)
			return NULL;
		c->segments = more;
		c->room = room;
	}
	t->segment = c->n++;
	t->has_segment = true;
	t->lost_base = t->lost;
	name.use = t->use;
	name.k = t->next_k++;
	c->segments[t->segment] = name;
	return &c->segments[t->segment];
}

// Takes a segment without a single packet back.
static void segment_undo(struct ctf *c, struct stream *t)
{
	char name[48];
	if (c->segments[t->segment].packets)
		return;
	segment_name(&c->segments[t->segment], name);
	unlinkat(c->dir, name, 0);
	c->n = t->segment; // it was the last to be made
	t->next_k--;
	t->has_segment = false;
}

static int write_packet(struct ctf *c, const struct segment *s, struct packet_header *h, const void *content,
			size_t bytes)
{
	char name[48];
	segment_name(s, name);
	int fd = openat(c->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	struct iovec io[2] = {{h, sizeof(*h)}, {(void *)content, bytes}};
	ssize_t n = pwritev(fd, io, 2, (off_t)s->bytes);
	int r = n == (ssize_t)(sizeof(*h) + bytes) ? 0 : n < 0 ? -errno : -ENOSPC;
	if (r < 0 && ftruncate(fd, (off_t)s->bytes) < 0)
		r = -errno;
	close(fd);
	return r;
}

// The disk is full: from now on as if --max-size were half of what it took, so
// that the newest history stays, and the tables find room at the end.
static void disk_full(struct ctf *c)
{
	free_some(c, UINT64_MAX);
	if (c->total < 2 * PACKET_LEAST)
		return;
	c->max_bytes = c->total / 2;
	c->segment_bytes = clamp(c->max_bytes / 8, PACKET_LEAST, SEGMENT_MAX);
}

static void put(struct ctf *c, struct stream *t, struct segment name, struct packet_header h,
		const void *content, uint64_t bytes, uint32_t records)
{
	h.content_bits = (bytes + sizeof(h)) * 8;
	uint64_t less = c->pack && h.stream_id != EVENT_STREAM_ID ?
				pack_write(c->pack, content, bytes / sizeof(struct ctp_record), &content) :
				0;
	h.packed = less ? PACK_WAY : 0;
	uint64_t all = (less ? less : bytes) + sizeof(h);
	struct segment *s = segment_for(c, t, name, all);
	if (!s) {
		fail(c, -ENOMEM, records);
		return;
	}
	h.magic = 0xC1FC1FC1;
	h.packet_bits = all * 8;
	h.discarded = h.discarded - t->lost_base;
	h.seq = s->packets;
	int r = write_packet(c, s, &h, content, all - sizeof(h));
	if (r < 0) {
		segment_undo(c, t);
		if (r == -ENOSPC || r == -EDQUOT)
			disk_full(c);
		fail(c, r, records);
		return;
	}
	t->last_time = s->end_time = h.end;
	s->bytes += all;
	s->packets++;
	s->records += records;
	c->total += all;
	c->w.records += records;
}

static struct writer_process *ctf_process(struct writer *w, unsigned index,
					  const struct ctp_region *const *region)
{
	struct ctf *c = (struct ctf *)w;
	struct writer_process *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->index = index;
	p->region = region;
	p->next = c->processes;
	p->link = &c->processes;
	if (p->next)
		p->next->link = &p->next;
	c->processes = p;
	return p;
}

static void ctf_process_end(struct writer *w, struct writer_process *p)
{
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	free(p->placed);
	free(p);
}

static void ctf_thread(struct writer *w, struct writer_process *p, const struct writer_batch *b)
{
	struct ctf *c = (struct ctf *)w;
	struct stream *t = &p->streams[b->slot];
	p->high = p->high <= b->slot ? b->slot + 1 : p->high;
	if (!t->open)
		*t = (struct stream){.open = true, .use = b->use};
	uint64_t none = t->last_time > b->start.time ? t->last_time : b->start.time;
	uint64_t begin = b->records ? ctp_record_time(&b->start, b->slots) : none;
	struct packet_header h = {
		.stream_id = 0,
		.begin = begin,
		.end = b->records ? b->end_time : begin,
		.discarded = b->lost,
		.tid = b->tid,
		.thread = b->slot,
		.near = b->start.near,
		.native = b->start.native,
		.current = b->start.current,
		.current_n = b->start.n,
	};
	put(c, t, (struct segment){.process = p->index, .slot = b->slot}, h, b->slots,
	    (uint64_t)b->n * sizeof(*b->slots), b->records);
	t->lost = b->lost;
}

// A class stands in the metadata before any event of it does.
static int tell_classes(struct ctf *c)
{
	if (c->classes_told == c->classes->n)
		return 0;
	int r = event_classes_write(c->classes, c->dir);
	r = r ? r : ctf_metadata(c->dir, c->clock, c->pack != NULL, c->classes);
	if (!r)
		c->classes_told = c->classes->n;
	return r;
}

static void ctf_events(struct writer *w, struct writer_process *p, const struct writer_batch *b)
{
	struct ctf *c = (struct ctf *)w;
	struct stream *t = &p->events[b->slot];
	struct event_packet *e = &c->packet;
	p->high = p->high <= b->slot ? b->slot + 1 : p->high;
	if (!t->open)
		*t = (struct stream){.open = true, .use = b->use};
	int r = event_packet_fill(e, b, &p->rows, c->classes, *p->region);
	r = r ? r : tell_classes(c);
	w->dropped_records += e->unknown;
	if (r)
		fail(c, r, b->event_records - e->unknown);
	if (r || !e->events)
		return;
	struct packet_header h = {.stream_id = EVENT_STREAM_ID,
				  .begin = e->begin,
				  .end = e->end,
				  .tid = b->tid,
				  .thread = b->slot};
	put(c, t, (struct segment){.what = SEGMENT_EVENTS, .process = p->index, .slot = b->slot}, h, e->bytes,
	    e->n, e->events);
	w->events += e->events;
}

static struct stream *placed_stream(struct writer_process *p, uint32_t tid)
{
	for (size_t i = 0; i < p->n_placed; i++)
		if (p->placed[i].tid == tid)
			return &p->placed[i].stream;
	if (GROW(p->placed, p->n_placed, p->placed_capacity))
		return NULL;
	p->placed[p->n_placed] = (struct placed_stream){.tid = tid};
	return &p->placed[p->n_placed++].stream;
}

static void ctf_placed(struct writer *w, struct writer_process *p, const struct writer_placed *e)
{
	struct ctf *c = (struct ctf *)w;
	struct stream *t = placed_stream(p, e->tid);
	int r = t ? tell_classes(c) : -ENOMEM;
	if (r) {
		fail(c, r, e->events);
		return;
	}
	struct packet_header h = {.stream_id = EVENT_STREAM_ID,
				  .begin = e->begin,
				  .end = e->end,
				  .discarded = t->lost + e->lost,
				  .tid = e->tid};
	put(c, t, (struct segment){.what = SEGMENT_PLACED, .process = p->index, .slot = e->tid}, h, e->bytes,
	    e->n, e->events);
	t->lost += e->lost;
	w->events += e->events;
}

static void ctf_thread_end(struct writer *w, struct writer_process *p, uint32_t slot)
{
	p->streams[slot] = p->events[slot] = (struct stream){.open = false};
}

static void ctf_stations(struct writer *w, const struct writer_station *e, uint32_t n)
{
	struct ctf *c = (struct ctf *)w;
	struct packet_header h = {.stream_id = 1, .begin = e[0].time, .end = e[n - 1].time};
	put(c, &c->v1, (struct segment){.what = SEGMENT_V1}, h, e, n * sizeof(*e), n);
}

static void ctf_turn(struct writer *w, struct writer_process *p)
{
	free_some((struct ctf *)w, FREE_A_TURN);
}

// Another image has another table of events.
static void ctf_image(struct writer *w, struct writer_process *p)
{
	p->rows = (struct event_rows){0};
}

static void ctf_flush(struct writer *w) {}

static bool ctf_make_room(struct writer *w)
{
	struct ctf *c = (struct ctf *)w;
	if (!c->n)
		return false;
	drop_oldest(c);
	free_some(c, UINT64_MAX);
	return true;
}

static void ctf_free(struct writer *w)
{
	struct ctf *c = (struct ctf *)w;
	free_some(c, UINT64_MAX);
	free(c->segments);
	event_packet_deinit(&c->packet);
	pack_free(c->pack);
	free(c);
}

static const struct writer_ops ctf_ops = {
	.process = ctf_process,
	.process_end = ctf_process_end,
	.thread = ctf_thread,
	.events = ctf_events,
	.placed = ctf_placed,
	.thread_end = ctf_thread_end,
	.turn = ctf_turn,
	.image = ctf_image,
	.stations = ctf_stations,
	.flush = ctf_flush,
	.make_room = ctf_make_room,
	.free = ctf_free,
};

struct writer *ctf_new(int dir, uint64_t max_bytes, bool compress, struct event_classes *classes,
		       const struct clock_pairs *clock)
{
	struct ctf *c = calloc(1, sizeof(*c));
	if (c && compress && !(c->pack = pack_new())) {
		free(c);
		c = NULL;
	}
	if (!c)
		return NULL;
	uint64_t packet = clamp(max_bytes / 16, PACKET_LEAST, PACKET_MAX);
	c->w.ops = &ctf_ops;
	c->w.batch_max = (uint32_t)((packet - sizeof(struct packet_header)) / sizeof(struct ctp_record));
	c->dir = dir;
	c->classes = classes;
	c->clock = clock;
	c->gone = -1;
	c->max_bytes = max_bytes;
	c->segment_bytes = clamp(max_bytes / 8, packet, SEGMENT_MAX);
	return &c->w;
}

// SPDX-License-Identifier: MIT
//
// Records of all threads of a process go through its merge, since the lines of a coroutine
// must be in order even if it moves between threads. When the file has reached its limit,
// its older half is dropped: the younger half is copied to the front. Before its first line
// the file holds the beginning of one, so that it differs from an empty file if ctp-run is
// killed, and a reader that follows it (tail -f) sees no byte change.
#include "engine/record/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/jsonl.h"
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"

#define BUFFER (256u << 10)
#define LEAST (16u << 10) // of the file
enum { EVENTS = 256 };
_Static_assert(2 * CTP_JSONL_MAX <= LEAST / 4, "a switch fits");

struct writer_process {
	struct lines *lines;
	const struct ctp_region *const *region;
	struct ctp_merge *merge;
};

struct lines {
	struct writer w;
	int fd;
	uint64_t bytes, max_bytes;
	const struct clock_pairs *clock;
	size_t used, room; // of the buffer
	uint64_t records_in_buffer;
	char buffer[BUFFER];
};

static void fail(struct lines *l, int error)
{
	if (!l->w.error)
		l->w.error = error;
	l->w.dropped_records += l->records_in_buffer;
}

static uint64_t count_lines(const char *p, size_t n)
{
	uint64_t lines = 0;
	for (const char *end = p + n; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
		lines++;
	return lines;
}

// Drops the older half. The buffer must be empty: it is used for copying.
static void make_room(struct lines *l)
{
	uint64_t from = l->bytes / 2, to = 0, gone = 0;
	ssize_t n;
	for (uint64_t at = 0; at < from; at += (uint64_t)n) {
		size_t want = from - at < BUFFER ? (size_t)(from - at) : BUFFER;
		if ((n = pread(l->fd, l->buffer, want, (off_t)at)) <= 0)
			break;
		gone += count_lines(l->buffer, (size_t)n);
	}
	n = pread(l->fd, l->buffer, BUFFER, (off_t)from);
	char *newline = n > 0 ? memchr(l->buffer, '\n', (size_t)n) : NULL;
	from = newline ? from + (uint64_t)(newline + 1 - l->buffer) : l->bytes;
	l->w.dropped_records += gone + 1;
	l->w.dropped_packets++;
	while (from < l->bytes && (n = pread(l->fd, l->buffer, BUFFER, (off_t)from)) > 0) {
		if (pwrite(l->fd, l->buffer, (size_t)n, (off_t)to) != n)
			break;
		from += (uint64_t)n;
		to += (uint64_t)n;
	}
	if (ftruncate(l->fd, (off_t)to) < 0)
		fail(l, -errno);
	l->bytes = to;
}

static void flush(struct lines *l)
{
	if (!l->used)
		return;
	ssize_t n = pwrite(l->fd, l->buffer, l->used, (off_t)l->bytes);
	if (n == (ssize_t)l->used) {
		l->bytes += l->used;
		l->w.records += l->records_in_buffer;
	} else {
		fail(l, n < 0 ? -errno : -ENOSPC);
		if (ftruncate(l->fd, (off_t)l->bytes) < 0)
			l->w.error = -errno;
	}
	l->used = 0;
	l->records_in_buffer = 0;
	if (l->bytes + l->room > l->max_bytes && l->bytes)
		make_room(l);
}

// Innermost address of a stack of the present region, bounded by our layout.
static uint64_t innermost(const struct ctp_region *r, uint32_t stack)
{
	if (!stack || stack >= r->stacks_max)
		return 0;
	uint32_t off = ctp_there(r, &r->stack_index[stack]) ? ctp_load32(&r->stack_index[stack]) : 0;
	if (!off || off >= r->stack_words_max || !ctp_there(r, &r->stack_words[off - 1]))
		return 0;
	uint32_t n = (uint32_t)r->stack_words[off - 1];
	return n ? r->stack_words[off] : 0;
}

static void sink(void *arg, const struct ctp_merged *m)
{
	const struct writer_process *p = arg;
	struct lines *l = p->lines;
	if (!m->to) {
		ctp_jsonl_other(m);
		return;
	}
	if (l->used + 2 * CTP_JSONL_MAX > l->room)
		flush(l);
	l->used += ctp_jsonl_switch(l->buffer + l->used, m, clock_to_ns(l->clock, m->event.time),
				    innermost(*p->region, m->event.stack),
				    ctp_time_is_late((*p->region)->ext->options, m->event.time));
	l->records_in_buffer++;
}

static struct writer_process *lines_process(struct writer *w, unsigned index,
					    const struct ctp_region *const *region)
{
	struct writer_process *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	*p = (struct writer_process){
		.lines = (struct lines *)w, .region = region, .merge = ctp_merge_new(sink, p)};
	if (!p->merge) {
		free(p);
		return NULL;
	}
	return p;
}

static void lines_process_end(struct writer *w, struct writer_process *p)
{
	ctp_merge_free(p->merge);
	free(p);
}

static void lines_thread(struct writer *w, struct writer_process *p, const struct writer_batch *b)
{
	struct ctp_event events[EVENTS];
	struct ctp_cursor cursor = b->start;
	for (uint32_t at = 0, n = 0; at < b->n; n = 0) {
		while (n < EVENTS && at < b->n)
			at += ctp_record_read(&cursor, b->slots + at, b->n - at, &events[n++]);
		if (ctp_merge_push(p->merge, b->slot, b->tid, events, n) < 0) {
			w->error = -ENOMEM;
			w->dropped_records += n;
		}
	}
}

// A line is a change of state.
static void lines_events(struct writer *w, struct writer_process *p, const struct writer_batch *b) {}

static void lines_thread_end(struct writer *w, struct writer_process *p, uint32_t slot) {}

static void lines_stations(struct writer *w, const struct writer_station *e, uint32_t n)
{
	struct lines *l = (struct lines *)w;
	for (uint32_t i = 0; i < n; i++) {
		if (e[i].kind != CTP_EV_STATION)
			continue;
		struct ctp_jsonl_line line = {.probe_id = e[i].id,
					      .tid = e[i].tid,
					      .addr = e[i].addr,
					      .seq = 2 * e[i].n,
					      .is_active = e[i].active,
					      .ts = e[i].ts_ns,
					      .is_station = true,
					      .finished = e[i].finished,
					      .station_probe_id = e[i].station_probe_id};
		if (l->used + CTP_JSONL_MAX > l->room)
			flush(l);
		l->used += ctp_jsonl_format(l->buffer + l->used, &line);
		l->records_in_buffer++;
	}
}

static void lines_turn(struct writer *w, struct writer_process *p)
{
	ctp_merge_turn(p->merge);
}

static void lines_image(struct writer *w, struct writer_process *p)
{
	ctp_merge_flush(p->merge);
}

static void lines_flush(struct writer *w)
{
	struct lines *l = (struct lines *)w;
	flush(l);
	if (!l->bytes && ftruncate(l->fd, 0) < 0)
		l->w.error = -errno;
}

static bool lines_make_room(struct writer *w)
{
	return false; // there are no tables that could need it
}

static void lines_free(struct writer *w)
{
	free(w);
}

static const struct writer_ops lines_ops = {
	.process = lines_process,
	.process_end = lines_process_end,
	.thread = lines_thread,
	.events = lines_events,
	.thread_end = lines_thread_end,
	.turn = lines_turn,
	.image = lines_image,
	.stations = lines_stations,
	.flush = lines_flush,
	.make_room = lines_make_room,
	.free = lines_free,
};

struct writer *lines_new(int fd, uint64_t max_bytes, const struct clock_pairs *clock)
{
	struct lines *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->w = (struct writer){.ops = &lines_ops, .batch_max = 8192, .eager = true};
	l->fd = fd;
	l->max_bytes = max_bytes < LEAST ? LEAST : max_bytes;
	l->room = l->max_bytes / 4 < BUFFER ? (size_t)l->max_bytes / 4 : BUFFER;
	l->clock = clock;
	if (pwrite(fd, CTP_JSONL_BEGIN, strlen(CTP_JSONL_BEGIN), 0) < 0)
		l->w.error = -errno;
	return &l->w;
}

// SPDX-License-Identifier: MIT
//
// A trace directory as JSON lines, as ctp-run -o x.jsonl would have written
// them: the threads' streams go through the merge, since a coroutine's lines
// must be in order even when it moves between threads; version-1 stations
// follow, each line by itself. Memory grows with coroutines, not with records.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format.h"
#include "base/file.h"
#include "ctp/jsonl.h"
#include "trace/stream.h"

#define BUFFER_BYTES (64u << 10)

struct lines_out {
	FILE *to;
	const struct world *w;
	uint64_t done, total; // bytes of the streams
	size_t used;
	char buffer[BUFFER_BYTES];
};

static void flush(struct lines_out *o)
{
	fwrite(o->buffer, 1, o->used, o->to);
	o->used = 0;
}

static char *room(struct lines_out *o)
{
	if (o->used + 2 * CTP_JSONL_MAX > BUFFER_BYTES)
		flush(o);
	return o->buffer + o->used;
}

// The first pc of a stack, in the image that ran at that time.
static uint64_t innermost(const struct world *w, uint64_t time, uint32_t stack)
{
	unsigned n;
	for (size_t i = w->nimages; i-- > 0;) {
		const struct image *m = &w->images[i];
		if (!m->has_tables || (i && m->ext.attached > time))
			continue;
		const uint64_t *pcs = image_stack(m, stack, &n, NULL);
		return pcs ? pcs[0] : 0;
	}
	return 0;
}

static void take(void *arg, const struct ctp_merged *m)
{
	struct lines_out *o = arg;
	const struct ctp_event *e = &m->event;
	if (!m->to) {
		ctp_jsonl_other(m);
		return;
	}
	o->used += ctp_jsonl_switch(room(o), m, world_ns(o->w, e->time), innermost(o->w, e->time, e->stack));
}

// Gives the queue the next records of its stream, or closes it.
static int feed(struct lines_out *o, struct ctp_merge *merge, uint32_t queue, struct stream_reader *reader)
{
	const struct stream_packet *p;
	const void *records;
	size_t n;
	int r = reader ? stream_next(reader, &p, &records, &n) : 0;
	if (r > 0) {
		world_tell(o->w, o->done += n * sizeof(struct ctp_record), o->total);
		return ctp_merge_push(merge, queue, p->tid, records, (uint32_t)n);
	}
	ctp_merge_close(merge, queue);
	return r;
}

static int merge_all(struct lines_out *o, struct ctp_merge *merge, struct stream_reader **readers, size_t n)
{
	uint32_t queue;
	int r = 0;
	for (uint32_t i = 0; !r && i < n; i++) { // a queue comes into being with its first records
		r = feed(o, merge, i, readers[i]);
		if (!r && readers[i])
			ctp_merge_open(merge, i);
	}
	while (!r && (queue = ctp_merge_run(merge)) < n)
		r = feed(o, merge, queue, readers[queue]);
	if (!r)
		ctp_merge_flush(merge);
	return r;
}

static int write_stations(struct lines_out *o, struct stream_reader *reader)
{
	const struct stream_packet *p;
	const void *records;
	size_t n;
	int r;
	while ((r = stream_next(reader, &p, &records, &n)) > 0) {
		const struct stream_station *s = records;
		for (size_t i = 0; p->stream_id == STREAM_V1 && i < n; i++) {
			struct ctp_jsonl_line l = { s[i].id, s[i].tid, s[i].addr, 2 * s[i].n, s[i].ts_ns,
						    s[i].active, true, s[i].station_probe_id };
			o->used += ctp_jsonl_format(room(o), &l);
		}
	}
	return r;
}

int format_jsonl(FILE *to, const struct report *report, const struct format_settings *settings)
{
	const struct world *w = report->world;
	struct lines_out *o = calloc(1, sizeof(*o));
	struct stream_reader **readers = calloc(w->nstreams ? w->nstreams : 1, sizeof(*readers));
	struct stream_reader *stations = NULL;
	struct ctp_merge *merge = ctp_merge_new(take, o);
	int r = w->form == WORLD_LINES ? -EINVAL : o && readers && merge ? 0 : -ENOMEM;
	size_t n = 0;
	if (!r) {
		o->to = to;
		o->w = w;
	}
	for (size_t i = 0; !r && i < w->nstreams; o->total += w->streams[i++].whole_bytes)
		r = stream_open(!strcmp(file_base(w->streams[i].path), "v1") ? &stations : &readers[n++],
				w->streams[i].path);
	if (!r)
		r = merge_all(o, merge, readers, n);
	if (!r && stations)
		r = write_stations(o, stations);
	if (o && o->used)
		flush(o);
	for (size_t i = 0; readers && i < n; i++)
		stream_close(readers[i]);
	stream_close(stations);
	free(readers);
	free(o);
	if (merge)
		ctp_merge_free(merge);
	return r;
}

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

struct lines_out {
	FILE *to;
	const struct world *w;
};

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
	char line[2 * CTP_JSONL_MAX];
	const struct ctp_event *e = &m->event;
	if (!m->to) {
		ctp_jsonl_other(m);
		return;
	}
	size_t n = ctp_jsonl_switch(line, m, world_ns(o->w, e->time),
				    innermost(o->w, e->time, e->stack));
	fwrite(line, 1, n, o->to);
}

// Gives the queue the next records of its stream, or closes it.
static int feed(struct ctp_merge *merge, uint32_t queue, struct stream_reader *reader)
{
	const struct stream_packet *p;
	const void *records;
	size_t n;
	int r = reader ? stream_next(reader, &p, &records, &n) : 0;
	if (r > 0)
		return ctp_merge_push(merge, queue, p->tid, records, (uint32_t)n);
	ctp_merge_close(merge, queue);
	return r;
}

static int merge_all(struct ctp_merge *merge, struct stream_reader **readers, size_t n)
{
	uint32_t queue;
	int r = 0;
	for (uint32_t i = 0; !r && i < n; i++) { // a queue comes into being with its first records
		r = feed(merge, i, readers[i]);
		if (!r && readers[i])
			ctp_merge_open(merge, i);
	}
	while (!r && (queue = ctp_merge_run(merge)) < n)
		r = feed(merge, queue, readers[queue]);
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
			char line[CTP_JSONL_MAX];
			struct ctp_jsonl_line l = { s[i].id, s[i].tid, s[i].addr, 2 * s[i].n, s[i].ts_ns,
						    s[i].active, true, s[i].station_probe_id };
			fwrite(line, 1, ctp_jsonl_format(line, &l), o->to);
		}
	}
	return r;
}

int format_jsonl(FILE *to, const struct report *report, const struct format_settings *settings)
{
	const struct world *w = report->world;
	struct lines_out o = { to, w };
	struct stream_reader **readers = calloc(w->nstreams ? w->nstreams : 1, sizeof(*readers));
	struct stream_reader *stations = NULL;
	struct ctp_merge *merge = ctp_merge_new(take, &o);
	int r = w->form == WORLD_LINES ? -EINVAL : readers && merge ? 0 : -ENOMEM;
	size_t n = 0;
	for (size_t i = 0; !r && i < w->nstreams; i++)
		r = stream_open(!strcmp(file_base(w->streams[i].path), "v1") ? &stations : &readers[n++],
				w->streams[i].path);
	if (!r)
		r = merge_all(merge, readers, n);
	if (!r && stations)
		r = write_stations(&o, stations);
	for (size_t i = 0; readers && i < n; i++)
		stream_close(readers[i]);
	stream_close(stations);
	free(readers);
	if (merge)
		ctp_merge_free(merge);
	return r;
}

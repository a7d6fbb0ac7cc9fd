// SPDX-License-Identifier: MIT
//
// All streams go through the merge, as a coroutine's transitions must be in order even if
// it changes threads. What is known of an entity is kept in the merge's row of it, and
// ends with the entity.
#include "trace/transitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "trace/transitions_lines.h"
#include "trace/stream/stream.h"

struct queue {
	struct stream_reader *reader;
	uint32_t stream; // row of world.streams
	unsigned process;
	bool is_events;  // of the program's own
	uint64_t native; // the thread's own stack
	const struct image *image;
	uint64_t image_until; // ticks: from there on it may be another one
	struct program_packet
		packet; // events that have not been handed on; a record's value is its number there
	struct ctp_event *records;
	size_t room;
};

struct walk {
	const struct world *w;
	transitions_sink *sink;
	ctp_merge_each_sink *left;
	void *arg;
	struct ctp_merge *merge;
	struct queue *queues;
	uint32_t n;
	uint64_t done, total; // bytes of the streams
	int r;
};

// ------------------------------------------------------------------ images

static unsigned process_of(const char *path)
{
	const char *name = file_base(path);
	return *name == 'p' ? (unsigned)strtoul(name + 1, NULL, 10) : 0;
}

// The image that ran in the queue's process at that time: the last that had attached by then, or the first.
static void find_image(const struct walk *k, struct queue *q, uint64_t time)
{
	q->image = NULL;
	q->image_until = UINT64_MAX;
	for (size_t i = 0; i < k->w->nimages; i++) {
		const struct image *m = &k->w->images[i];
		if (!m->has_tables || m->process != q->process)
			continue;
		if (q->image && m->ext.attached > time) {
			q->image_until = m->ext.attached;
			return;
		}
		q->image = m;
	}
}

uint64_t transitions_pc(const struct transition *m)
{
	unsigned n;
	const uint64_t *pcs = m->stack && m->image ? image_stack(m->image, m->stack, &n, NULL) : NULL;
	return pcs ? pcs[0] : m->pc;
}

// ------------------------------------------------------------- who it is about

// Where the record that made it is not there, the tables may say.
static void meet(struct ctp_merge_entity *e, const struct transition *m, uint64_t native)
{
	const struct ctp_state *s = m->image ? image_entity(m->image, e->id) : NULL;
	e->discovered = true;
	if (s) {
		e->entry = s->entry;
		e->native = s->entity == CTP_NATIVE;
	}
	e->native |= e->id == native;
}

static void know_switch(const struct transition *m)
{
	struct ctp_merge_entity *from = m->from, *to = m->to;
	from->suspended = true;
	from->stack = m->stack;
	from->ready_ns = from->ready_fd = from->ready_by = 0;
	to->suspended = false;
	from->since_ns = to->since_ns = m->ns;
}

static void know_other(const struct transition *m)
{
	struct ctp_merge_entity *e = m->from;
	if (m->kind == CTP_EV_READY && e && e->suspended && (!e->ready_ns || e->ready_by == m->b)) {
		e->ready_ns = m->ns;
		e->ready_fd = m->value;
		e->ready_by = m->b;
	} else if (m->kind == CTP_EV_CREATE && e) {
		e->entry = m->value;
		e->since_ns = m->ns;
		e->discovered = true;
	} else if (m->kind == CTP_EV_THREAD && e) {
		e->native = e->discovered = true;
		e->since_ns = m->ns;
	}
}

static void take(void *arg, const struct ctp_merged *merged)
{
	struct walk *k = arg;
	const struct ctp_event *e = &merged->event;
	struct queue *q = &k->queues[merged->queue];
	if (k->r || (e->kind == CTP_EV_USER && !q->is_events)) // in another stream it is none
		return;
	if (e->time >= q->image_until)
		find_image(k, q, e->time);
	struct transition m = {.kind = e->kind,
			       .how = e->how,
			       .from_gap = merged->from_gap,
			       .to_gap = merged->to_gap,
			       .tid = merged->tid,
			       .stream = q->stream,
			       .ns = world_ns(k->w, e->time),
			       .image = q->image,
			       .from = merged->from,
			       .to = merged->to,
			       .from_n = merged->from_n,
			       .to_n = merged->to_n,
			       .stack = e->stack,
			       .a = e->a,
			       .b = e->b,
			       .value = e->value,
			       .merged = merged};
	if (e->kind == CTP_EV_SWITCH) {
		if (!m.from->discovered)
			meet(m.from, &m, q->native);
		if (!m.to->discovered)
			meet(m.to, &m, q->native);
		k->r = k->sink(k->arg, &m);
		know_switch(&m);
		return;
	}
	if (!m.from)
		m.from = ctp_merge_find(k->merge, e->a);
	if (e->kind == CTP_EV_CREATE || e->kind == CTP_EV_READY)
		m.to = ctp_merge_find(k->merge, e->b);
	if (q->is_events)
		m.event = &q->packet.events[e->value];
	if (e->kind == CTP_EV_THREAD)
		q->native = e->a;
	k->r = k->sink(k->arg, &m);
	know_other(&m);
}

// ----------------------------------------------------------------- the streams

// The same of a stream of events of the program's own. All of the last packet have been handed on.
static int feed_events(struct walk *k, uint32_t queue)
{
	struct queue *q = &k->queues[queue];
	int r = program_packet_next(&q->packet, q->reader, &k->w->program_events);
	if (r <= 0) {
		ctp_merge_close(k->merge, queue);
		return r;
	}
	if (q->packet.n > q->room) {
		struct ctp_event *more = realloc(q->records, q->packet.n * sizeof(*more));
		if (!more)
			return -ENOMEM;
		q->records = more;
		q->room = q->packet.n;
	}
	for (size_t i = 0; i < q->packet.n; i++)
		q->records[i] = (struct ctp_event){.kind = CTP_EV_USER,
						   .time = q->packet.events[i].time,
						   .a = q->packet.events[i].coroutine,
						   .value = i};
	return ctp_merge_push(k->merge, queue, q->packet.tid, q->records, (uint32_t)q->packet.n);
}

// Gives the queue the next records of its stream, or closes it.
static int feed(struct walk *k, uint32_t queue)
{
	const struct stream_packet *p;
	const void *records;
	size_t n;
	struct queue *q = &k->queues[queue];
	if (q->is_events)
		return feed_events(k, queue);
	int r = q->reader ? stream_next(q->reader, &p, &records, &n) : 0;
	if (r > 0) {
		if (!q->native)
			q->native = p->native;
		world_progress(k->w, k->done += n * sizeof(struct ctp_record), k->total);
		return ctp_merge_push(k->merge, queue, p->tid, records, (uint32_t)n);
	}
	ctp_merge_close(k->merge, queue);
	return r;
}

static int walk_threads(struct walk *k)
{
	uint32_t queue;
	int r = 0;
	for (uint32_t i = 0; !r && i < k->n; i++) { // a queue comes into being with its first records
		r = feed(k, i);
		if (!r && k->queues[i].reader)
			ctp_merge_open(k->merge, i);
	}
	while (!r && !k->r && (queue = ctp_merge_run(k->merge)) < k->n)
		r = feed(k, queue);
	if (!r && !k->r)
		ctp_merge_flush(k->merge);
	return r ? r : k->r;
}

static int walk_stations(const struct walk *k, uint32_t stream, struct stream_reader *reader)
{
	const struct stream_packet *p;
	const void *records;
	struct transitions_lines *lines = transitions_lines_new(k->sink, k->left, k->arg);
	size_t n;
	int r = lines ? 0 : -ENOMEM, more = 1;
	while (!r && (more = stream_next(reader, &p, &records, &n)) > 0) {
		const struct stream_station *s = records;
		for (size_t i = 0; !r && p->stream_id == STREAM_V1 && i < n; i++) {
			if (s[i].kind != CTP_EV_STATION)
				continue;
			struct ctp_jsonl_line l = {s[i].id,
						   s[i].tid,
						   s[i].addr,
						   2 * s[i].n,
						   s[i].ts_ns,
						   s[i].active,
						   .is_station = true,
						   .finished = s[i].finished,
						   .station_probe_id = s[i].station_probe_id};
			r = transitions_lines_take(lines, stream, &l);
		}
	}
	if (!r && !more)
		r = transitions_lines_end(lines);
	transitions_lines_free(lines);
	return r ? r : more;
}

static bool holds_stations(const struct world_stream *s)
{
	return !strncmp(file_base(s->path), "v1", 2);
}

static int open_queues(struct walk *k)
{
	int r = 0;
	for (uint32_t i = 0; !r && i < k->w->nstreams; i++) {
		const struct world_stream *s = &k->w->streams[i];
		if (holds_stations(s) || file_refused(s->error))
			continue;
		struct queue *q = &k->queues[k->n];
		*q = (struct queue){.stream = i,
				    .process = process_of(s->path),
				    .is_events = stream_kind(file_base(s->path)) == STREAM_EVENTS};
		k->total += s->whole_bytes;
		r = world_stream_open(&q->reader, k->w, s);
		k->n += !r;
	}
	return r;
}

static int walk_directory(struct walk *k)
{
	size_t room = k->w->nstreams ? k->w->nstreams : 1;
	k->queues = calloc(room, sizeof(*k->queues));
	k->merge = ctp_merge_new(take, k);
	int r = k->queues && k->merge ? open_queues(k) : -ENOMEM;
	if (!r)
		r = walk_threads(k);
	if (!r && k->left)
		ctp_merge_each(k->merge, k->left, k->arg);
	for (uint32_t i = 0; i < k->n; i++) {
		stream_close(k->queues[i].reader);
		program_packet_deinit(&k->queues[i].packet);
		free(k->queues[i].records);
	}
	for (uint32_t i = 0; !r && i < k->w->nstreams; i++) {
		struct stream_reader *reader;
		if (!holds_stations(&k->w->streams[i]) || file_refused(k->w->streams[i].error))
			continue;
		r = world_stream_open(&reader, k->w, &k->w->streams[i]);
		if (r)
			break;
		r = walk_stations(k, i, reader);
		stream_close(reader);
	}
	free(k->queues);
	ctp_merge_free(k->merge);
	return r;
}

int transitions_walk_all(const struct world *w, transitions_sink *sink, ctp_merge_each_sink *left, void *arg)
{
	struct walk k = {.w = w, .sink = sink, .left = left, .arg = arg};
	return w->form == WORLD_DIRECTORY ? walk_directory(&k) :
	       w->form == WORLD_LINES     ? transitions_lines_walk(w, sink, left, arg) :
					    0;
}

int transitions_walk(const struct world *w, transitions_sink *sink, void *arg)
{
	return transitions_walk_all(w, sink, NULL, arg);
}

// SPDX-License-Identifier: MIT
//
// Chunks are listed, sorted by thread and number, and copied one by one. A copy counts only
// if the chunk had not changed hands when it was complete (ctp/chunk.h). Chunks that follow
// each other without a gap make one run of records; each begins so that it can be read
// alone. The region's numbers are bounded here and not trusted.
#include "engine/record/flight_recorder.h"

#include <stdlib.h>
#include <string.h>

#include "ctp/chunk.h"
#include "ctp/there.h"
#include "engine/record/validate.h"

struct entry {
	struct ctp_chunk is;
	uint32_t at;        // which chunk
	uint64_t next_time; // when its thread went on to the next that there is; UINT64_MAX: none
};

// A run under way: the records of one thread.
struct run {
	struct flight_recorder *k;
	struct writer *w;
	struct writer_process *to;
	uint64_t since;
	const struct entry *last; // whose slots came last
	struct ctp_cursor cursor; // after them
	uint64_t bad;
	struct ctp_record batch[CTP_CHUNK_SLOTS], events[CTP_CHUNK_SLOTS];
};

struct flight_recorder *flight_recorder_new(uint32_t chunks)
{
	struct flight_recorder *k = calloc(1, sizeof(*k));
	if (k && !(k->done = calloc(chunks, sizeof(*k->done)))) {
		free(k);
		return NULL;
	}
	if (k)
		k->chunks = chunks;
	return k;
}

void flight_recorder_free(struct flight_recorder *k)
{
	if (k)
		free(k->done);
	free(k);
}

struct flight_recorder *flight_recorder_copy(const struct flight_recorder *k)
{
	struct flight_recorder *anew = flight_recorder_new(k->chunks);
	if (anew)
		memcpy(anew->uses, k->uses, sizeof(anew->uses));
	return anew;
}

static int by_thread(const void *a, const void *b)
{
	const struct ctp_chunk *x = &((const struct entry *)a)->is, *y = &((const struct entry *)b)->is;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->use != y->use)
		return x->use < y->use ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static bool same_thread(const struct entry *a, const struct entry *b)
{
	return a->is.thread == b->is.thread && a->is.use == b->is.use;
}

static size_t list(const struct ctp_region *r, struct entry *e)
{
	size_t n = 0;
	for (uint32_t i = 0; i < r->chunks; i++) {
		e[n].at = i;
		n += ctp_chunk_look(r, i, &e[n].is) &&
		     ctp_there_all(r, ctp_chunk_slots(r, i), e[n].is.used * sizeof(struct ctp_record));
	}
	qsort(e, n, sizeof(*e), by_thread);
	for (size_t i = 0; i < n; i++)
		e[i].next_time = i + 1 < n && same_thread(&e[i], &e[i + 1]) ? e[i + 1].is.time : UINT64_MAX;
	return n;
}

static void count(struct flight_recorder *k, const struct writer_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		unsigned kind = ctp_record_kind(&b->slots[i]);
		k->switches += ctp_kind_is_short(kind) || kind == CTP_EV_SWITCH;
	}
}

// What is older than `since` is not written, but the cursor goes past it.
static void leave_out_old(const struct run *u, struct writer_batch *b)
{
	while (b->n && ctp_record_time(&b->start, b->slots) < u->since) {
		uint32_t takes = ctp_record_slots(b->slots, b->n);
		ctp_cursor_pass(&b->start, b->slots);
		b->slots += takes;
		b->n -= takes;
		b->records--;
	}
	struct ctp_cursor time = {.time = b->start.time};
	while (b->n_events && ctp_record_time(&time, b->events) < u->since) {
		uint32_t takes = ctp_record_slots(b->events, b->n_events);
		time.time = ctp_record_time(&time, b->events);
		b->events += takes;
		b->n_events -= takes;
		b->event_records--;
	}
}

// n slots of the batch, which follow what the cursor has passed.
static void put(struct run *u, uint32_t n)
{
	const struct ctp_chunk *is = &u->last->is;
	uint32_t max = u->w->batch_max < n ? u->w->batch_max : n;
	for (uint32_t at = 0, took; at < n; at += took) {
		struct writer_batch b = {.slot = is->thread,
					 .use = u->k->uses[is->thread] + is->use,
					 .tid = is->tid,
					 .start = u->cursor,
					 .slots = u->batch + at,
					 .events = u->events,
					 .lost = is->lost};
		took = validate_records(u->batch + at, n - at < max ? n - at : max, &u->cursor, &b, &u->bad);
		leave_out_old(u, &b);
		if (b.event_records)
			u->w->ops->events(u->w, u->to, &b);
		if (!b.records)
			continue;
		count(u->k, &b);
		u->w->ops->thread(u->w, u->to, &b);
	}
}

// The stream that takes the thread's records.
static void enter_stream(struct run *u, const struct entry *e)
{
	uint32_t slot = e->is.thread;
	if (u->k->last[slot].open && u->k->last[slot].use != e->is.use)
		u->w->ops->thread_end(u->w, u->to, slot);
	u->k->last[slot].open = true;
	u->k->last[slot].use = e->is.use;
}

// From where on its slots are to be written. What was written before is passed for what it says.
static uint32_t begin_at(struct run *u, const struct entry *e, uint32_t done)
{
	bool follows = u->last && same_thread(u->last, e) &&
		       u->last->is.first + CTP_CHUNK_SLOTS == e->is.first && u->last->is.lost == e->is.lost;
	if (!follows)
		u->cursor = (struct ctp_cursor){.time = e->is.time, .native = e->is.native & CTP_ID_MASK};
	for (uint32_t at = 0, takes; at < done; at += takes) {
		takes = ctp_record_slots(u->batch + at, done - at);
		if (takes)
			ctp_cursor_pass(&u->cursor, u->batch + at);
		takes += !takes;
	}
	memmove(u->batch, u->batch + done, (e->is.used - done) * sizeof(*u->batch));
	return e->is.used - done;
}

static void one(struct run *u, const struct ctp_region *r, const struct entry *e)
{
	uint32_t done = u->k->done[e->at].taken == e->is.seq ? u->k->done[e->at].slots : 0;
	if (e->is.used <= done || e->next_time <= u->since)
		return;
	if (!ctp_chunk_read(r, e->at, &e->is, u->batch))
		return; // overwritten meanwhile
	u->k->done[e->at].taken = e->is.seq;
	u->k->done[e->at].slots = e->is.used;
	enter_stream(u, e);
	uint32_t n = begin_at(u, e, done);
	u->last = e;
	put(u, n);
}

void flight_recorder_write(struct flight_recorder *k, const struct ctp_region *r, struct writer *w,
			   struct writer_process *to, uint64_t since)
{
	struct run u = {.k = k, .w = w, .to = to, .since = since};
	struct entry *e = calloc(r->chunks, sizeof(*e));
	size_t n = e && k->chunks == r->chunks ? list(r, e) : 0;
	for (size_t i = 0; i < n; i++)
		one(&u, r, &e[i]);
	free(e);
}

void flight_recorder_leave(struct flight_recorder *k)
{
	memset(k->done, 0, k->chunks * sizeof(*k->done));
	for (uint32_t i = 0; i < CTP_THREADS_MAX; i++) {
		k->uses[i] += k->last[i].open ? k->last[i].use + 1 : 0;
		k->last[i].open = false;
	}
}

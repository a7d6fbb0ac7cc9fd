// SPDX-License-Identifier: MIT
//
// Moves records from rings to the writer. The program can write to a ring at any time, so
// counts are bounded by ctp-run's own layout, and records are copied first and validated in
// the copy. A ring is emptied when it holds enough for a good packet, or when its oldest
// record is old; until then records cost nothing where they are. With --flight nothing is
// taken until it is asked for (flight_recorder.c).
#include "engine/record/harvest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/ring.h"
#include "ctp/there.h"
#include "engine/record/validate.h"
#include "engine/target/thread_names.h"

#define ENOUGH 8192      // slots that make a packet worth it; of a small ring, a quarter
#define OLD_NS 100000000 // after so long a little is enough, too
#define PIECE 1024       // slots that are copied and then checked, while they are in the first cache

struct harvest *harvest_new(const struct ctp_region *r, struct writer *w)
{
	struct harvest *h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->region = r;
	h->writer = w;
	return h;
}

int harvest_begin(struct harvest *h, unsigned index, const struct ctp_region *const *region)
{
	struct ctp_record *batch = malloc(2 * sizeof(*batch) * h->writer->batch_max);
	struct writer_process *to = batch ? h->writer->ops->process(h->writer, index, region) : NULL;
	if (!to) {
		free(batch);
		return -ENOMEM;
	}
	h->batch = batch;
	h->events = batch + h->writer->batch_max;
	h->batch_max = h->writer->batch_max;
	h->to = to;
	return h->region->chunks && !(h->flight = flight_recorder_new(h->region->chunks)) ? -ENOMEM : 0;
}

void harvest_free(struct harvest *h)
{
	if (!h)
		return;
	if (h->to)
		h->writer->ops->process_end(h->writer, h->to);
	flight_recorder_free(h->flight);
	ran_free(h->ran);
	free(h->batch);
	free(h);
}

static uint32_t thread_high(const struct ctp_region *r)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	return n < r->threads_max ? n : r->threads_max;
}

// The next n slots of the ring, as they are.
static void copy(const struct harvest *h, const struct harvest_thread *t, uint32_t slot,
		 struct ctp_record *to, uint32_t n)
{
	uint64_t capacity = h->region->ring_capacity, at = t->tail & (capacity - 1);
	const struct ctp_record *ring = ctp_region_ring(h->region, slot);
	uint64_t first = capacity - at < n ? capacity - at : n;
	memcpy(to, ring + at, first * sizeof(*ring));
	memcpy(to + first, ring, (n - first) * sizeof(*ring));
}

// Puts the next n slots into the batch, but for a record that is cut at their end. Returns how many.
static uint32_t fill(struct harvest *h, uint32_t slot, uint32_t n, struct writer_batch *b)
{
	struct harvest_thread *t = &h->threads[slot];
	uint32_t at = 0, piece;
	bool last;
	do {
		struct ctp_record *to = h->batch + b->n;
		last = n - at < PIECE + CTP_RECORD_SLOTS; // it holds whatever the one before has cut
		piece = last ? n - at : PIECE;
		copy(h, t, slot, to, piece);
		piece = validate_records(to, piece, &t->cursor, b, &t->bad);
		t->tail += piece;
		at += piece;
	} while (!last);
	return at;
}

// Has what lies ready been written at all? What a region only claims is not to become memory.
static bool written(const struct ctp_region *r, uint32_t slot, uint64_t tail, uint64_t ready)
{
	const struct ctp_record *ring = ctp_region_ring(r, slot);
	uint64_t at = tail & (r->ring_capacity - 1),
		 first = r->ring_capacity - at < ready ? r->ring_capacity - at : ready;
	return ctp_there_all(r, ring + at, first * sizeof(*ring)) &&
	       (first == ready || ctp_there_all(r, ring, (ready - first) * sizeof(*ring)));
}

static void take(struct harvest *h, uint32_t slot, uint64_t ready)
{
	struct harvest_thread *t = &h->threads[slot];
	struct ctp_thread *thread = &h->region->threads[slot];
	uint64_t lost = ctp_load64(&thread->lost) + t->bad;
	while (ready || lost != t->lost_reported) {
		struct writer_batch b = {
			.slot = slot, .use = t->use, .tid = t->tid, .slots = h->batch, .events = h->events};
		t->cursor.native = thread->native & CTP_ID_MASK;
		b.start = t->cursor;
		ready -= fill(h, slot, ready < h->batch_max ? (uint32_t)ready : h->batch_max, &b);
		ctp_ring_taken(thread, t->tail);
		if (h->ran)
			ran_see(h->ran, &b);
		b.lost = lost = ctp_load64(&thread->lost) + t->bad;
		if (h->writer->stopped) { // what was lost is reported when it goes on
			h->writer->not_recorded += b.records + b.event_records;
			if (!ready)
				break;
			continue;
		}
		if (b.event_records)
			h->writer->ops->events(h->writer, h->to, &b);
		if (b.records || (!ready && lost != t->lost_reported)) {
			if (h->seen)
				h->seen(h->seen_arg, &b);
			h->writer->ops->thread(h->writer, h->to, &b);
			t->lost_reported = lost;
		} else if (!ready) {
			break;
		}
	}
}

// Adds a use's counters to those of the uses that have ended.
static void fold(struct ctp_thread *sum, const struct ctp_thread *t, uint64_t lost)
{
	sum->uses++;
	sum->head += t->head;
	sum->lost += lost;
	sum->switches += t->switches;
	sum->created += t->created;
	sum->finished += t->finished;
	sum->destroyed += t->destroyed;
	sum->turns += t->turns;
	sum->polls += t->polls;
	sum->passed += t->passed;
	sum->events += t->events;
	sum->hand += t->hand;
	sum->reused += t->reused;
	sum->unknown += t->unknown;
}

// The thread is gone and its ring is empty: the slot is free for the next.
static void release(struct harvest *h, uint32_t slot)
{
	struct harvest_thread *t = &h->threads[slot];
	struct ctp_thread *thread = &h->region->threads[slot];
	struct ctp_thread copy_of = *thread;
	fold(&h->ended, &copy_of, copy_of.lost + t->bad);
	if (h->to && !h->region->chunks)
		h->writer->ops->thread_end(h->writer, h->to, slot);
	ctp_ring_taken(thread, 0); // where the next thread's ring begins
	*t = (struct harvest_thread){.uses = t->uses};
	ctp_store32(&thread->life, CTP_THREAD_FREE);
}

static bool look(struct harvest *h, uint32_t slot, uint64_t now_ns, bool all)
{
	struct harvest_thread *t = &h->threads[slot];
	struct ctp_thread *thread = &h->region->threads[slot];
	uint32_t life = ctp_load32(&thread->life);
	bool bad;
	if (life != CTP_THREAD_LIVE && life != CTP_THREAD_DEAD)
		return false;
	if (!t->live) {
		*t = (struct harvest_thread){.live = true,
					     .use = t->uses,
					     .uses = t->uses + 1,
					     .tid = thread->tid,
					     .taken_ns = now_ns,
					     .cursor.time = thread->began};
		thread_names_note(h->region, h->pid, slot);
	}
	if (h->region->chunks) {
		h->pressed |= thread->native || thread->created || (thread->flags & CTP_THREAD_EVENTS);
		bool went_on = ctp_load64(&thread->head) != t->head_seen;
		t->head_seen = thread->head;
		if (life == CTP_THREAD_DEAD)
			release(h, slot);
		return went_on;
	}
	uint64_t ready = t->broken ? 0 : ctp_ring_ready(thread, t->tail, h->region->ring_capacity, &bad);
	if (!t->broken && bad)
		t->broken = true;
	bool wrote = t->tail + ready != t->head_seen,
	     enough = ready >= ENOUGH || ready >= h->region->ring_capacity / 4;
	t->head_seen = t->tail + ready;
	bool matters = thread->native || thread->created || (thread->flags & CTP_THREAD_EVENTS);
	if (!h->to && (matters || enough)) {
		h->pressed = true; // not to be dropped: it will be taken at the next look
		return wrote;
	}
	all = all || h->writer->eager || life == CTP_THREAD_DEAD;
	if (h->to && (all || enough || now_ns - t->taken_ns >= OLD_NS)) {
		if (ready && !written(h->region, slot, t->tail, ready)) {
			t->broken = true;
			ready = 0;
		}
		take(h, slot, ready);
		t->taken_ns = now_ns;
		h->late |= ready >= h->region->ring_capacity / 8;
	}
	if (life == CTP_THREAD_DEAD)
		release(h, slot);
	return wrote;
}

bool harvest_put_off(const struct ctp_region *r)
{
	return ctp_load32(&r->ext->final_asked) == CTP_FINAL_ASKED &&
	       ctp_load32(&r->ext->final_done) != CTP_FINAL_DONE;
}

bool harvest_turn(struct harvest *h, uint64_t now_ns, bool all)
{
	bool wrote = false;
	uint32_t n = thread_high(h->region), i = 0;
	h->high = h->high < n ? n : h->high;
	h->late = false;
	for (; i < n && (all || !harvest_put_off(h->region)); i++)
		wrote |= look(h, i, now_ns, all);
	h->went_on = wrote && h->region->chunks;
	if (h->to && i == n) // no ring was put off: what is missing now lies in none
		h->writer->ops->turn(h->writer, h->to);
	return wrote && !h->region->chunks;
}

void harvest_keep(struct harvest *h, uint64_t since)
{
	if (h->flight && h->to)
		flight_recorder_write(h->flight, h->region, h->writer, h->to, since);
}

void harvest_leave(struct harvest *h, uint64_t now_ns)
{
	harvest_turn(h, now_ns, true);
	struct harvest_sums sums = harvest_sum(h);
	for (uint32_t i = 0; i < h->high; i++) {
		struct harvest_thread *t = &h->threads[i];
		if ((t->live || h->flight) && h->to)
			h->writer->ops->thread_end(h->writer, h->to, i);
		*t = (struct harvest_thread){.uses = t->uses};
	}
	if (h->flight)
		flight_recorder_leave(h->flight);
	h->switches_before = sums.switches;
	h->created_before = sums.created;
	h->lost_before = sums.lost;
	if (h->to)
		h->writer->ops->image(h->writer, h->to);
}

void harvest_enter(struct harvest *h, const struct ctp_region *r)
{
	h->ended = (struct ctp_thread){0};
	h->region = r;
}

struct harvest_sums harvest_sum(const struct harvest *h)
{
	struct ctp_thread sum = h->ended;
	uint32_t n = thread_high(h->region), threads = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct ctp_thread *t = &h->region->threads[i];
		uint32_t life = ctp_load32(&t->life);
		if (life == CTP_THREAD_LIVE || life == CTP_THREAD_DEAD)
			fold(&sum, t, t->lost + h->threads[i].bad);
	}
	for (uint32_t i = 0; i < h->high; i++)
		threads += h->threads[i].uses;
	return (struct harvest_sums){
		.switches = sum.switches + h->switches_before,
		.created = sum.created + h->created_before,
		.lost = sum.lost + h->lost_before + ctp_load64(&h->region->ext->lost_unslotted),
		.threads = threads,
	};
}

void harvest_add(struct harvest_sums *to, const struct harvest_sums *more)
{
	to->switches += more->switches;
	to->created += more->created;
	to->lost += more->lost;
	to->threads += more->threads;
}

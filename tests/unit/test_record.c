// SPDX-License-Identifier: MIT
//
// What the guest's emit writes and the engine's harvest takes must read as what was
// meant, from whatever packet on, whatever was lost on the way: ids far apart and near,
// numbers that pass their low bits, threads that share a coroutine by mistake.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "ctp/chunk.h"
#include "preload/guest/emit.h"
#include "engine/record/harvest.h"

static struct tracer tracer;
struct tracer *ctp_tracer = &tracer;

// ------------------------------------------------------- one thread of a guest

enum { ENTITIES = 40, MOST = 400000, NATIVE = 1 };
static struct thread_ctx g;
static struct { uint64_t id, n; } entity[ENTITIES];
static unsigned runs; // entity that runs

struct meant {
	struct ctp_event e;
	uint64_t a_n, b_n;
};
static struct meant *meant;
static size_t n_meant, n_read, n_gaps;

static int begin_with(uint32_t ring_bytes, uint32_t chunks)
{
	static struct ctp_header layout;
	memset(&layout, 0, sizeof(layout));
	ctp_region_layout(&layout, 8, ring_bytes);
	layout.ext.chunks = chunks;
	void *base = mmap(NULL, layout.ext.region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -1;
	memcpy(base, &layout, sizeof(layout));
	memset(&tracer, 0, sizeof(tracer));
	if (ctp_region_open(&tracer.region, base, layout.ext.region_bytes))
		return -1;
	struct ctp_thread *t = tracer.region.threads;
	tracer.region.ext->thread_high = 2;
	g = (struct thread_ctx){ .thread = t, .ring = ctp_region_ring(&tracer.region, 0), .ring_capacity = tracer.region.ring_capacity,
				  .ring_mask = tracer.region.ring_capacity - 1};
	t->began = 1;
	t->native = NATIVE;
	t->life = CTP_THREAD_LIVE;
	ctp_ring_begin(t);
	meant = realloc(meant, sizeof(*meant) * MOST);
	n_meant = n_read = n_gaps = 0;
	runs = 0;
	srand(1);
	for (unsigned i = 0; i < ENTITIES; i++) { // a few of long ago, and many as of now
		entity[i].id = i < 4 ? NATIVE + i : i % 2 ? 50000000 + i : 50000000 + i + ((uint64_t)i << 18);
		entity[i].n = i % 3 ? 0 : ((uint64_t)rand() << 8) + CTP_TOLD - 3;
	}
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with(4096, 0);
}

enum { POOL = 6 };
static int begin_flight(void **state)
{
	(void)state;
	int r = begin_with(2 * CTP_CHUNK_BYTES, POOL);
	tracer.flight = true;
	return r;
}

static int end(void **state)
{
	(void)state;
	free(meant);
	meant = NULL;
	return munmap(tracer.region.base, tracer.region.bytes);
}

static void switch_to(unsigned to, unsigned how, uint32_t stack)
{
	struct meant *m = &meant[n_meant++];
	uint64_t lost = g.thread->lost, now = guest_now();
	*m = (struct meant){ .e = { .time = now, .a = entity[runs].id, .b = entity[to].id, .stack = stack,
				    .kind = CTP_EV_SWITCH, .how = (uint8_t)how } };
	m->a_n = ++entity[runs].n;
	m->b_n = ++entity[to].n;
	emit_switch(&g, &(struct emit_switch){ now, m->e.a, m->a_n, m->e.b, m->b_n, how, stack });
	n_meant -= g.thread->lost != lost;
	runs = to;
}

static void other(unsigned kind)
{
	struct meant *m = &meant[n_meant++];
	uint64_t lost = g.thread->lost;
	*m = (struct meant){ .e = { .a = 77, .b = 88, .stack = 9, .value = UINT64_MAX, .kind = (uint8_t)kind, .how = 3 } };
	emit(&g, ctp_w1(kind, 3, 77), ctp_w2(88, 9), UINT64_MAX);
	n_meant -= g.thread->lost != lost;
}

static void something(void)
{
	unsigned to = (unsigned)rand() % ENTITIES;
	if (rand() % 20 == 0)
		other(CTP_EV_CREATE + (unsigned)rand() % 3 * 2);
	else if (to != runs)
		switch_to(to, CTP_HOW_SWAP + (unsigned)rand() % 7, (uint32_t)rand() % CTP_STACKS_MAX);
}

// ------------------------------------------------------------------- its reader

static uint32_t low(const struct ctp_event *e, uint64_t n)
{
	return (uint32_t)(n & ((1ULL << ctp_event_bits(e)) - 1));
}

static void read_one(const struct ctp_event *e)
{
	assert_true(n_read < n_meant);
	const struct meant *m = &meant[n_read++];
	assert_int_equal(e->kind, m->e.kind);
	assert_int_equal(e->how, m->e.how);
	assert_int_equal(e->a, m->e.a);
	assert_int_equal(e->b, m->e.b);
	assert_int_equal(e->stack, m->e.stack);
	assert_int_equal(e->value * (e->kind != CTP_EV_SWITCH), m->e.value);
	if (e->kind != CTP_EV_SWITCH)
		return;
	assert_int_equal(e->time, m->e.time);
	assert_int_equal(e->a_n, low(e, m->a_n));
	assert_int_equal(e->b_n, low(e, m->b_n));
	if ((m->b_n & CTP_TOLD_MASK) == CTP_TOLD)
		assert_true(e->full);
}

// As a reader of packets: all that it knows is what the batch begins with.
static void take(struct writer *w, struct writer_process *p, const struct writer_batch *b)
{
	struct ctp_cursor c = b->start;
	struct ctp_event e;
	uint32_t records = 0;
	for (uint32_t i = 0, took; i < b->n; i += took, records++) {
		took = ctp_record_read(&c, b->slots + i, b->n - i, &e);
		assert_int_not_equal(took, 0);
		read_one(&e);
	}
	assert_int_equal(records, b->records);
	w->records += records;
	w->dropped_records = b->lost;
}

static struct writer_process *process(struct writer *w, unsigned index, const struct ctp_region *const *r)
{
	return (struct writer_process *)w;
}
static void nothing(struct writer *w, struct writer_process *p) { }
static unsigned rounds;
static void round_ends(struct writer *w, struct writer_process *p) { rounds++; }
static const struct writer_ops ops = { .process = process, .process_end = nothing, .thread = take, .turn = round_ends };

static void run(uint32_t batch_max, int most, size_t records)
{
	struct writer w = { .ops = &ops, .batch_max = batch_max };
	struct harvest *h = harvest_new(&tracer.region, &w);
	const struct ctp_region *region = &tracer.region;
	assert_non_null(h);
	assert_int_equal(harvest_begin(h, 0, &region), 0);
	other(CTP_EV_CREATE);
	while (n_meant + g.thread->lost < records) {
		for (int n = rand() % most; n--;)
			something();
		harvest_turn(h, 0, true);
	}
	harvest_turn(h, 0, true);
	assert_int_equal(n_read, n_meant);
	assert_int_equal(w.dropped_records, g.thread->lost);
	assert_int_equal(harvest_sum(h).lost, g.thread->lost);
	harvest_free(h);
}

static void all_that_fits_is_read_from_any_packet_on(void **state)
{
	(void)state;
	for (uint32_t batch_max = 2; batch_max < 9; batch_max++) {
		run(batch_max, 100, 20000);
		assert_int_equal(g.thread->lost, 0);
		assert_int_equal(end(state) | begin(state), 0);
	}
}

static void what_is_lost_is_counted_and_leaves_no_doubt(void **state)
{
	(void)state;
	run(7, 1000, 100000);
	assert_true(g.thread->lost > 1000);
	assert_true(n_read > 1000);
}

// Main is let go first; what was not taken meanwhile is taken after it, and none is lost. A round that left rings out is
// none to the writer: the merge takes what is missing after a whole round for lost.
static void records_wait_for_a_program_at_its_end(void **state)
{
	(void)state;
	struct writer w = { .ops = &ops, .batch_max = 7, .eager = true };
	struct harvest *h = harvest_new(&tracer.region, &w);
	const struct ctp_region *region = &tracer.region;
	struct ctp_ext *e = tracer.region.ext;
	assert_int_equal(harvest_begin(h, 0, &region), 0);
	other(CTP_EV_CREATE);
	e->final_asked = CTP_FINAL_ASKED;
	rounds = 0;
	harvest_turn(h, 1, false);
	assert_int_equal(n_read, 0);
	assert_int_equal(rounds, 0);
	e->final_done = CTP_FINAL_DONE;
	harvest_turn(h, 2, false);
	assert_int_equal(n_read, n_meant);
	assert_int_equal(rounds, 1);
	e->final_done = CTP_FINAL_NONE;
	other(CTP_EV_CREATE);
	harvest_turn(h, 3, true);
	assert_int_equal(n_read, n_meant);
	harvest_free(h);
}

// Events of the program's own, of 2 slots to as many as one can take, each with its number; switches between them.
// The harvest copies and checks them in pieces, and a piece ends anywhere in one.
static void write_event(uint64_t number)
{
	uint64_t head = ctp_ring_head(g.thread), now = guest_now();
	unsigned slots = number % 3 ? 2 : 2 + (unsigned)rand() % (CTP_EVENT_SLOTS - 1);
	assert_true(emit_has_room(&g, slots, now));
	for (unsigned i = 0; i < slots; i++)
		*ctp_ring_slot(g.ring, g.ring_capacity, head + i) = (struct ctp_record){ CTP_EV_REST, number };
	ctp_ring_slot(g.ring, g.ring_capacity, head)->w0 = CTP_EV_USER | now << 8;
	ctp_ring_slot(g.ring, g.ring_capacity, head + 1)->w0 |= (uint64_t)(slots - 2) << 56;
	ctp_ring_publish(g.thread, head + slots);
}

static uint64_t n_events;
static void read_events(struct writer *w, struct writer_process *p, const struct writer_batch *b)
{
	uint32_t at = 0, records = 0;
	for (unsigned slots; at < b->n_events; at += slots, records++, n_events++) {
		slots = ctp_record_slots(b->events + at, b->n_events - at);
		assert_int_not_equal(slots, 0);
		for (unsigned i = 0; i < slots; i++)
			assert_int_equal(b->events[at + i].w1, n_events);
	}
	assert_int_equal(records, b->event_records);
}

static void pieces_end_anywhere(void **state)
{
	static const struct writer_ops ops_too = { .process = process, .process_end = nothing, .thread = take, .turn = round_ends,
						   .events = read_events };
	uint64_t n = 0;
	assert_int_equal(end(state) | begin_with(1 << 20, 0), 0);
	struct writer w = { .ops = &ops_too, .batch_max = 20000 };
	struct harvest *h = harvest_new(&tracer.region, &w);
	const struct ctp_region *region = &tracer.region;
	assert_int_equal(harvest_begin(h, 0, &region), 0);
	n_events = 0;
	for (int turn = 0; turn < 20; turn++) {
		for (int i = 0; i < 1500; i++) {
			write_event(n++);
			if (i % 8 == 0)
				something();
		}
		harvest_turn(h, 0, true);
		assert_int_equal(n_read, n_meant);
		assert_int_equal(n_events, n);
	}
	assert_int_equal(harvest_sum(h).lost, 0);
	harvest_free(h);
}

// A ring of which an eighth was full when it was looked at.
static void late_is_an_eighth(void **state)
{
	(void)state;
	struct writer w = { .ops = &ops, .batch_max = 7 };
	struct harvest *h = harvest_new(&tracer.region, &w);
	const struct ctp_region *region = &tracer.region;
	assert_int_equal(harvest_begin(h, 0, &region), 0);
	for (uint64_t full = tracer.region.ring_capacity / 8 - 2; full <= tracer.region.ring_capacity / 8; full += 2) {
		uint64_t from = ctp_ring_head(g.thread);
		while (ctp_ring_head(g.thread) - from < full)
			other(CTP_EV_CREATE);
		harvest_turn(h, 0, true);
		assert_int_equal(h->late, full == tracer.region.ring_capacity / 8);
	}
	harvest_turn(h, 0, true);
	assert_false(h->late);
	harvest_free(h);
}

static void count(struct writer *w, struct writer_process *p, const struct writer_batch *b)
{
	w->records += b->records;
}
static void thread_ends(struct writer *w, struct writer_process *p, uint32_t slot) { }

static uint64_t kept_records(uint64_t since)
{
	static const struct writer_ops counting = { .process = process, .process_end = nothing, .thread = count,
						    .thread_end = thread_ends };
	struct writer w = { .ops = &counting, .batch_max = 100 };
	struct flight_recorder *k = flight_recorder_new(POOL);
	flight_recorder_write(k, &tracer.region, &w, (struct writer_process *)&w, since);
	flight_recorder_write(k, &tracer.region, &w, (struct writer_process *)&w, since); // nothing twice
	flight_recorder_free(k);
	return w.records;
}

static void write_kept(struct flight_recorder *k, uint64_t since)
{
	static const struct writer_ops reading = { .process = process, .process_end = nothing, .thread = take,
						   .thread_end = thread_ends };
	struct writer w = { .ops = &reading, .batch_max = 77 };
	flight_recorder_write(k, &tracer.region, &w, (struct writer_process *)&w, since);
	assert_int_equal(n_read, n_meant);
}

// The newest are there, each as it was meant, and none is lost; what comes later follows without a gap.
static void what_is_kept_is_the_newest(void **state)
{
	(void)state;
	struct flight_recorder *k = flight_recorder_new(POOL);
	for (size_t records = 10; records < MOST - 1000; records = records * 3 / 2) {
		while (n_meant < records)
			something();
		uint64_t n = kept_records(0);
		assert_true(n == n_meant || n > (POOL - 1) * CTP_CHUNK_SLOTS / 2 - POOL);
		n_read = n_meant - n;
		struct flight_recorder *all = flight_recorder_new(POOL);
		write_kept(all, 0);
		flight_recorder_free(all);
		if (records < 1000 || records == 10) { // it goes on where it ended
			n_read = n_gaps;
			write_kept(k, 0);
			n_gaps = n_meant;
		}
	}
	assert_int_equal(g.thread->lost, 0);
	emit_end(&g);
	flight_recorder_free(k);
}

static void what_is_older_is_left_out(void **state)
{
	(void)state;
	while (n_meant < 20000)
		something();
	size_t from = n_meant - 700;
	while (meant[from].e.kind != CTP_EV_SWITCH || meant[from - 1].e.kind != CTP_EV_SWITCH)
		from++;
	struct flight_recorder *k = flight_recorder_new(POOL);
	n_read = from;
	while (meant[n_read - 1].e.time == meant[from].e.time)
		n_read--;
	write_kept(k, meant[from].e.time);
	flight_recorder_free(k);
}

// A record of two slots does not fit into the last one of a chunk, and no other chunk is to be had: what was left
// is another thread's by then, and nothing more is written there.
static void a_chunk_that_was_given_up(void **state)
{
	(void)state;
	static const struct ctp_record anothers = { 0x0777, 0x0777 };
	entity[6].id = entity[5].id + 1;
	do {
		entity[5].n = entity[6].n = 100;
		switch_to(runs == 5 ? 6 : 5, CTP_HOW_SWAP, 0);
	} while (ctp_ring_head(g.thread) != CTP_CHUNK_SLOTS - 1);
	struct ctp_chunk *c = g.chunk;
	struct ctp_record *last = ctp_ring_slot(g.ring, g.ring_capacity, CTP_CHUNK_SLOTS - 1);
	for (uint32_t i = 0; i < POOL; i++)
		if (ctp_chunk(&tracer.region, i) != c)
			ctp_chunk(&tracer.region, i)->seq = 1; // others write there
	c->seq++; // ended, and taken by another thread as soon as this one gives it up
	other(CTP_EV_CREATE);
	assert_int_equal(g.thread->lost, 1);
	*last = anothers;
	switch_to(runs == 5 ? 6 : 5, CTP_HOW_SWAP, 0);
	assert_int_equal(g.thread->lost, 2);
	assert_memory_equal(last, &anothers, sizeof(*last));
	assert_int_equal(ctp_ring_head(g.thread), CTP_CHUNK_SLOTS - 1);
	c->seq++; // the other one has left it
	switch_to(runs == 5 ? 6 : 5, CTP_HOW_SWAP, 0);
	assert_int_equal(g.thread->lost, 2);
	assert_int_equal(ctp_ring_head(g.thread), CTP_CHUNK_SLOTS + 2);
	emit_end(&g);
}

// A thread that ends: the next one in its slot reads on its own.
static void two_threads_in_one_slot(void **state)
{
	(void)state;
	run(100, 50, 1000);
	ctp_ring_begin(g.thread);
	assert_false(ctp_ring_fits(g.thread, ctp_ring_head(g.thread), 1)); // until it has looked at the tail
	assert_int_equal(g.thread->near, CTP_NEAR_UNSURE);
}

static unsigned slots_of(unsigned to)
{
	uint64_t before = ctp_ring_head(g.thread);
	switch_to(to, CTP_HOW_SWAP, 1);
	return (unsigned)(ctp_ring_head(g.thread) - before);
}

static void a_switch_takes_one_slot(void **state)
{
	(void)state;
	entity[0].n = entity[5].n = entity[6].n = 100;
	entity[5].id = 50000000;
	entity[6].id = 50000000 - (1 << 20);
	runs = 6;
	assert_int_equal(slots_of(5), 2); // who leaves?
	assert_int_equal(slots_of(6), 1);
	assert_int_equal(slots_of(0), 1); // the thread's own, however old
	assert_int_equal(slots_of(6), 1);
	assert_int_equal(slots_of(1), 2); // too old
	assert_int_equal(slots_of(5), 1);
	entity[6].n = CTP_TOLD - 1;
	assert_int_equal(slots_of(6), 2); // told in full from time to time
	assert_int_equal(slots_of(5), 1);
	entity[7].id = entity[5].id + (1 << CTP_SHORT_BITS);
	assert_int_equal(slots_of(7), 2); // too young: ids count from there now
	assert_int_equal(slots_of(5), 2);
	assert_int_equal(slots_of(7), 1);
}

// Entered here while it runs there: neither leaves with the number it came with.
static void whoever_shares_a_coroutine_tells_all(void **state)
{
	(void)state;
	struct ctp_thread *there = &tracer.region.threads[1];
	assert_int_equal(slots_of(5), 2);
	there->near = 0;
	emit_unsure(&g, 1);
	assert_int_equal(there->near, CTP_NEAR_UNSURE);
	assert_int_equal(slots_of(6), 2);
	entity[6].n += 2; // it ran on there
	assert_int_equal(slots_of(7), 2);
	assert_int_equal(slots_of(5), 1);
	emit_unsure(&g, UINT32_MAX); // a station that lies
}

// ------------------------------------------------------------------- by themselves

static void times_of_56_bits(void **state)
{
	(void)state;
	struct ctp_cursor c = { .time = (7ULL << 56) - 5, .current = 1 };
	struct ctp_record r;
	struct ctp_event e;
	static const struct { uint64_t time; bool falls; } row[] = {
		{ (7ULL << 56) - 5, false }, { 7ULL << 56, false }, { (7ULL << 56) - 1, true }, { (7ULL << 56) + (1ULL << 55) - 1, false },
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t before = c.time;
		ctp_record_set_short(&r, row[i].time, CTP_HOW_SWAP, 2, 0, 1);
		assert_int_equal(ctp_record_read(&c, &r, 1, &e), 1);
		assert_int_equal(e.time, row[i].falls ? before : row[i].time);
		assert_int_equal(e.falls, row[i].falls);
	}
}

static void no_record_is_made_of_half_a_one(void **state)
{
	(void)state;
	struct ctp_record r[3];
	struct ctp_cursor c = { 0 };
	struct ctp_event e;
	ctp_record_set(&r[0], &r[1], 5, ctp_w1(CTP_EV_CREATE, 0, 3), ctp_w2(1, 0), 7);
	r[2] = r[0];
	assert_int_equal(ctp_record_read(&c, r, 3, &e), 2);
	assert_int_equal(ctp_record_read(&c, r + 1, 2, &e), 0); // the rest of one
	assert_int_equal(ctp_record_read(&c, r + 2, 1, &e), 0); // cut
	assert_int_equal(ctp_record_read(&c, r, 0, &e), 0);
	r[1] = r[0];
	assert_int_equal(ctp_record_read(&c, r, 3, &e), 0); // another one where its rest should be
	for (unsigned kind = 0; kind < 256; kind++) {
		r[0].w0 = kind;
		r[1].w0 = CTP_EV_REST;
		unsigned took = ctp_record_read(&c, r, 3, &e);
		bool reserved = (kind > CTP_EV_SLEPT && kind < 16) || (kind > 32 && kind < 64) || kind >= 128;
		assert_int_equal(took, (kind >= 1 && kind <= CTP_EV_SLEPT) || reserved ? 2 : kind >= 17 && kind <= 23 ? 1 : 0);
	}
}

// Of an event of the program's own: who ran, and its row. It is passed over by its length.
static void events_say_who_and_which(void **state)
{
	(void)state;
	static struct ctp_record r[CTP_RECORD_SLOTS + 1];
	struct ctp_cursor c = { .time = 4, .current = 9, .n = 2 };
	struct ctp_event e;
	for (unsigned more = 0; more < 256; more += 51) {
		ctp_record_set(&r[0], &r[1], 5, ctp_w1(CTP_EV_USER + 2, 1, 3), ctp_w2(1, 0), 7);
		r[1].w0 |= (uint64_t)more << 56;
		for (unsigned i = 2; i < 2 + more; i++)
			r[i] = (struct ctp_record){ CTP_EV_REST | ~0xffULL, CTP_EV_SWITCH };
		assert_int_equal(ctp_record_read(&c, r, 2 + more, &e), 2 + more);
		assert_true(e.kind == CTP_EV_USER && e.time == 5 && e.a == 3 && !e.b && c.time == 5 && c.current == 9 && c.n == 2);
		assert_int_equal(e.value, 2 << 8 | 1);
		assert_int_equal(ctp_record_read(&c, r, 1 + more, &e), 0); // cut
		r[1 + more].w0 = CTP_EV_SWITCH; // its last slot is no rest
		assert_int_equal(ctp_record_read(&c, r, 2 + more, &e), 0);
	}
}

// What a later ctp may write is passed over by its length, and nothing else of it counts.
static void reserved_kinds_are_passed_over(void **state)
{
	(void)state;
	struct ctp_record r[3];
	struct ctp_cursor c = { .time = 4, .current = 9, .n = 2 };
	struct ctp_event e;
	ctp_record_set(&r[0], &r[1], 5, ctp_w1(40, 1, 3), ctp_w2(1, 0), 7);
	r[1].w0 |= 1ULL << 56;
	r[2] = (struct ctp_record){ CTP_EV_REST | ~0xffULL, CTP_EV_SWITCH };
	assert_int_equal(ctp_record_read(&c, r, 3, &e), 3);
	assert_true(e.kind == 40 && e.time == 5 && !e.a && !e.b && c.current == 9 && c.n == 2);
	assert_int_equal(ctp_record_read(&c, r, 2, &e), 0);
}

static void numbers_by_their_low_bits(void **state)
{
	(void)state;
	enum { LOW = CTP_SHORT_BITS };
	const uint64_t all = 1ULL << LOW, known = 5 * all + 10;
	assert_int_equal(ctp_number_ahead(known, 100, 11, LOW, 101), 1);
	assert_int_equal(ctp_number_ahead(known, 100, 10, LOW, 100), 0);
	assert_int_equal(ctp_number_ahead(known, 100, 9, LOW, 101), -1);
	assert_int_equal(ctp_number_ahead(known, 100, 9, LOW, 100 + 2 * all), (int64_t)all - 1); // much was lost
	assert_int_equal(ctp_number_ahead(known, 100, 5, LOW, 50), -5);
	assert_int_equal(ctp_number_ahead(known, 100, 3000000, LOW, 100), 2999990);
	assert_int_equal(ctp_number_ahead(UINT32_MAX, 100, 1, 32, 101), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_that_fits_is_read_from_any_packet_on, begin, end),
		cmocka_unit_test_setup_teardown(what_is_lost_is_counted_and_leaves_no_doubt, begin, end),
		cmocka_unit_test_setup_teardown(records_wait_for_a_program_at_its_end, begin, end),
		cmocka_unit_test_setup_teardown(pieces_end_anywhere, begin, end),
		cmocka_unit_test_setup_teardown(late_is_an_eighth, begin, end),
		cmocka_unit_test_setup_teardown(what_is_kept_is_the_newest, begin_flight, end),
		cmocka_unit_test_setup_teardown(what_is_older_is_left_out, begin_flight, end),
		cmocka_unit_test_setup_teardown(a_chunk_that_was_given_up, begin_flight, end),
		cmocka_unit_test_setup_teardown(two_threads_in_one_slot, begin, end),
		cmocka_unit_test_setup_teardown(a_switch_takes_one_slot, begin, end),
		cmocka_unit_test_setup_teardown(whoever_shares_a_coroutine_tells_all, begin, end),
		cmocka_unit_test(times_of_56_bits), cmocka_unit_test(no_record_is_made_of_half_a_one), cmocka_unit_test(reserved_kinds_are_passed_over), cmocka_unit_test(events_say_who_and_which),
		cmocka_unit_test(numbers_by_their_low_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

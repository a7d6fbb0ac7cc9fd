// SPDX-License-Identifier: MIT
//
// The chunks of --flight, with the writer's steps put between two loads of the reader. The
// chunk is full of records of an older lap, as each one is after a while: a reader must never
// take one of those for the thread's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ctp/region.h"
#include "ctp/ring.h"

// The reader's loads: the writer may do something before each of them.
static void (*before_load)(const uint64_t *p);
static uint64_t stepped_load64(const uint64_t *p)
{
	if (before_load)
		before_load(p);
	return ctp_load64(p);
}
#define ctp_load64 stepped_load64
#include "ctp/chunk.h"
#undef ctp_load64

enum { POOL = 4, OLD = 0x01d };
static struct ctp_region pool;
static struct ctp_thread threads[2];
static struct ctp_chunk *chunk; // that the writer is in
static uint32_t chunk_at;
static uint64_t head;
static unsigned steps; // that the writer has done between the reader's loads

static int begin(void **state)
{
	(void)state;
	static struct ctp_ext ext;
	memset(threads, 0, sizeof(threads));
	memset(&ext, 0, sizeof(ext));
	pool = (struct ctp_region){.threads = threads, .threads_max = 2, .chunks = POOL, .ext = &ext,
				   .rings = calloc(POOL, CTP_CHUNK_BYTES + sizeof(struct ctp_chunk))};
	for (uint32_t i = 0; i < POOL; i++)
		for (uint32_t k = 0; k < CTP_CHUNK_SLOTS; k++)
			ctp_chunk_slots(&pool, i)[k] = (struct ctp_record){OLD, OLD};
	chunk = NULL;
	head = 0;
	steps = 0;
	before_load = NULL;
	return pool.rings ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(pool.rings);
	return 0;
}

// The writer, as preload/guest/emit.c does it: goes on in another chunk.
static void next_chunk(void)
{
	struct ctp_chunk is = {.first = (head + CTP_CHUNK_SLOTS - 1) & ~(uint64_t)(CTP_CHUNK_SLOTS - 1), .thread = 1};
	if (chunk)
		ctp_chunk_end(chunk, head - chunk->first, threads[1].lost);
	chunk = ctp_chunk_take(&pool, &is, &chunk_at);
	assert_non_null(chunk);
	head = is.first;
	ctp_ring_publish(&threads[1], head);
}

static void write_slots(unsigned n)
{
	for (; n; n--, head++) {
		ctp_chunk_slots(&pool, chunk_at)[head % CTP_CHUNK_SLOTS] = (struct ctp_record){head, head};
		ctp_ring_publish(&threads[1], head + 1);
	}
}

// All slots that the reader would take are the thread's own.
static void assert_whole(uint32_t i, const struct ctp_chunk *is)
{
	static struct ctp_record slots[CTP_CHUNK_SLOTS];
	assert_true(ctp_chunk_read(&pool, i, is, slots));
	for (uint32_t k = 0; k < is->used; k++)
		assert_int_equal(slots[k].w0, is->first + k);
}

// A record of two slots does not fit into the one that is left.
static void leaves_early(const uint64_t *p)
{
	if (p != &threads[1].head || steps++)
		return;
	next_chunk();
}

static void a_chunk_that_ends_early_while_it_is_looked_at(void **state)
{
	struct ctp_chunk is;
	(void)state;
	next_chunk();
	write_slots(CTP_CHUNK_SLOTS - 1);
	before_load = leaves_early;
	assert_true(ctp_chunk_look(&pool, 0, &is));
	assert_int_equal(steps, 1);
	assert_int_equal(is.used, CTP_CHUNK_SLOTS - 1);
	assert_whole(0, &is);
}

// The same, and the next one has records already: the head is past this chunk altogether.
static void leaves_early_and_writes(const uint64_t *p)
{
	if (p != &threads[1].head || steps++)
		return;
	next_chunk();
	write_slots(3);
}

static void a_chunk_that_was_left_behind(void **state)
{
	struct ctp_chunk is;
	(void)state;
	next_chunk();
	write_slots(CTP_CHUNK_SLOTS - 1);
	before_load = leaves_early_and_writes;
	assert_true(ctp_chunk_look(&pool, 0, &is));
	assert_int_equal(is.used, CTP_CHUNK_SLOTS - 1);
	assert_whole(0, &is);
	assert_true(ctp_chunk_look(&pool, 1, &is));
	assert_int_equal(is.used, 3);
	assert_whole(1, &is);
}

// It writes on in the chunk: what it had published at the head's load counts, and no more.
static void writes(const uint64_t *p)
{
	if (p == &threads[1].head)
		write_slots(2);
}

static void a_chunk_that_is_written_in(void **state)
{
	struct ctp_chunk is;
	(void)state;
	next_chunk();
	write_slots(5);
	before_load = writes;
	assert_true(ctp_chunk_look(&pool, 0, &is));
	assert_int_equal(is.used, 7);
	assert_whole(0, &is);
}

// Taken anew by the same thread before each look at its head: never the same for long enough.
static void goes_round(const uint64_t *p)
{
	if (p != &threads[1].head)
		return;
	steps++;
	for (unsigned i = 0; i < POOL; i++) {
		write_slots(1);
		next_chunk();
	}
}

static void a_chunk_that_is_taken_anew_all_along(void **state)
{
	struct ctp_chunk is;
	(void)state;
	next_chunk();
	before_load = goes_round;
	assert_false(ctp_chunk_look(&pool, 0, &is));
	assert_in_range(steps, 2, 10); // it gives up
}

// Between the look and the copy's end.
static void a_chunk_that_is_taken_anew_after_the_look(void **state)
{
	static struct ctp_record slots[CTP_CHUNK_SLOTS];
	struct ctp_chunk is;
	(void)state;
	next_chunk();
	write_slots(9);
	assert_true(ctp_chunk_look(&pool, 0, &is));
	next_chunk(); // ended: what was seen stands
	assert_true(ctp_chunk_read(&pool, 0, &is, slots));
	for (unsigned i = 1; i < POOL; i++)
		next_chunk();
	assert_int_equal(chunk_at, 0);
	assert_false(ctp_chunk_read(&pool, 0, &is, slots));
}

// Being filled in: taken, and what it says is of before.
static void a_chunk_that_is_being_taken(void **state)
{
	struct ctp_chunk is;
	(void)state;
	next_chunk();
	write_slots(9);
	chunk->ready = chunk->seq - 2;
	assert_false(ctp_chunk_look(&pool, 0, &is));
	chunk->ready = chunk->seq;
	assert_true(ctp_chunk_look(&pool, 0, &is));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_chunk_that_ends_early_while_it_is_looked_at, begin, end),
		cmocka_unit_test_setup_teardown(a_chunk_that_was_left_behind, begin, end),
		cmocka_unit_test_setup_teardown(a_chunk_that_is_written_in, begin, end),
		cmocka_unit_test_setup_teardown(a_chunk_that_is_taken_anew_all_along, begin, end),
		cmocka_unit_test_setup_teardown(a_chunk_that_is_taken_anew_after_the_look, begin, end),
		cmocka_unit_test_setup_teardown(a_chunk_that_is_being_taken, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

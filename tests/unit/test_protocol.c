// SPDX-License-Identifier: MIT
//
// Slots, states and rings with real threads on both sides: nothing torn,
// nothing twice, nothing missing that is not counted; and regions that lie.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ctp/chunk.h"
#include "ctp/region.h"
#include "ctp/ring.h"

enum { EVENTS = 2000000 };

// ------------------------------------------------------------------- slots

static struct ctp_station station;
static struct ctp_state present;
static uint32_t slots_done;

static void *slot_writer(void *arg)
{
	(void)arg;
	for (uint64_t n = 1; n <= EVENTS; n++)
		ctp_slot_write(station.slots, n, n, n + 1, n + 2, n & 1);
	ctp_store32(&slots_done, 1);
	return NULL;
}

static void slots_are_never_torn(void **state)
{
	(void)state;
	pthread_t t;
	uint64_t seen[CTP_SLOTS] = {0}, got = 0, last = 0;
	assert_int_equal(pthread_create(&t, NULL, slot_writer, NULL), 0);
	for (bool more = true; more;) {
		more = !ctp_load32(&slots_done);
		for (unsigned i = 0; i < CTP_SLOTS; i++) {
			struct ctp_slot s;
			uint64_t n = ctp_slot_read(station.slots, i, seen[i], &s);
			if (!n)
				continue;
			assert_int_equal(s.timestamp_ns, n);
			assert_int_equal(s.tid, n + 1);
			assert_int_equal(s.addr, n + 2);
			assert_int_equal(s.is_active, n & 1);
			seen[i] = s.seq;
			got++;
			last = n > last ? n : last;
		}
	}
	pthread_join(t, NULL);
	assert_int_equal(last, EVENTS);
	assert_true(got >= CTP_SLOTS);
}

// ------------------------------------------------------------------ states

static uint32_t state_done;

static void *state_writer(void *arg)
{
	struct ctp_state *s = arg;
	for (uint64_t n = 1; n <= EVENTS; n++) {
		ctp_state_begin(s);
		for (int i = 0; i < CTP_REGS; i++)
			s->regs[i] = n;
		s->hi = n;
		ctp_state_end_change(s, CTP_SUSPENDED);
	}
	ctp_store32(&state_done, 1);
	return NULL;
}

static void states_are_never_torn(void **state)
{
	(void)state;
	pthread_t t;
	assert_int_equal(pthread_create(&t, NULL, state_writer, &present), 0);
	while (!ctp_load32(&state_done)) {
		struct ctp_state s;
		if (!ctp_state_read(&present, &s))
			continue;
		for (int i = 0; i < CTP_REGS; i++)
			assert_int_equal(s.regs[i], s.changes);
		assert_int_equal(s.hi, s.changes);
	}
	pthread_join(t, NULL);
}

// ------------------------------------------------------------------- rings

enum { CAPACITY = 128 };
static struct ctp_thread thread;
static struct ctp_record ring[CAPACITY];

static void *ring_writer(void *arg)
{
	(void)arg;
	for (uint64_t n = 1; n <= EVENTS; n++) { // two slots each
		uint64_t head = ctp_ring_head(&thread);
		if (!ctp_ring_fits(&thread, head, 2) && ctp_ring_look(&thread, CAPACITY, head, 2) == CTP_RING_FULL) {
			ctp_ring_drop(&thread);
			continue;
		}
		*ctp_ring_slot(ring, CAPACITY, head) = (struct ctp_record){n, n * 3};
		*ctp_ring_slot(ring, CAPACITY, head + 1) = (struct ctp_record){n * 5, n * 7};
		ctp_ring_publish(&thread, head + 2);
	}
	ctp_store32(&thread.life, CTP_THREAD_DEAD);
	return NULL;
}

static void rings_lose_nothing_uncounted(void **state)
{
	(void)state;
	pthread_t t;
	uint64_t tail = 0, got = 0, last = 0;
	assert_int_equal(pthread_create(&t, NULL, ring_writer, NULL), 0);
	for (bool more = true; more;) {
		bool bad;
		more = ctp_load32(&thread.life) != CTP_THREAD_DEAD;
		uint64_t n = ctp_ring_ready(&thread, tail, CAPACITY, &bad);
		assert_false(bad);
		assert_int_equal(n % 2, 0); // whole records
		for (uint64_t i = 0; i < n; i += 2) {
			struct ctp_record r = ring[(tail + i) & (CAPACITY - 1)], rest = ring[(tail + i + 1) & (CAPACITY - 1)];
			assert_true(r.w0 > last);
			assert_int_equal(r.w1, r.w0 * 3);
			assert_int_equal(rest.w0, r.w0 * 5);
			assert_int_equal(rest.w1, r.w0 * 7);
			last = r.w0;
		}
		tail += n;
		got += n / 2;
		ctp_ring_taken(&thread, tail);
	}
	pthread_join(t, NULL);
	assert_int_equal(got + thread.lost, EVENTS);
}

static void the_reader_is_late_from_half_on(void **state)
{
	(void)state;
	struct ctp_thread t = {.head = 0};
	ctp_ring_begin(&t);
	assert_false(ctp_ring_fits(&t, 0, 1));
	assert_int_equal(ctp_ring_look(&t, CAPACITY, 0, 1), CTP_RING_ROOM);
	assert_true(ctp_ring_fits(&t, CAPACITY / 2 - 1, 1));
	assert_false(ctp_ring_fits(&t, CAPACITY / 2 - 1, 2));
	assert_int_equal(ctp_ring_look(&t, CAPACITY, CAPACITY / 2 - 1, 2), CTP_RING_HALF);
	assert_true(ctp_ring_fits(&t, CAPACITY - 2, 2));
	assert_false(ctp_ring_fits(&t, CAPACITY - 1, 2));
	assert_int_equal(ctp_ring_look(&t, CAPACITY, CAPACITY - 1, 2), CTP_RING_FULL);
	ctp_ring_taken(&t, 1);
	assert_int_equal(ctp_ring_look(&t, CAPACITY, CAPACITY - 1, 2), CTP_RING_HALF);
	ctp_ring_taken(&t, CAPACITY - 1);
	assert_int_equal(ctp_ring_look(&t, CAPACITY, CAPACITY - 1, 2), CTP_RING_ROOM);
}

static void a_ring_that_lies(void **state)
{
	(void)state;
	struct ctp_thread t = {.head = 1000};
	bool bad;
	assert_int_equal(ctp_ring_ready(&t, 0, CAPACITY, &bad), 0);
	assert_true(bad);
	t.head = 5;
	assert_int_equal(ctp_ring_ready(&t, 6, CAPACITY, &bad), 0); // head behind tail
	assert_true(bad);
}

// ------------------------------------------------------------------ chunks

enum { WRITERS = 3, CHUNKS = 8, SLOTS_EACH = 3000000 };
static struct ctp_region pool;
static uint32_t writers_done, looked;

// As a thread of the guest: word 0 is the number of the slot, word 1 says whose. Every third chunk is left early.
static void *chunk_writer(void *arg)
{
	uint64_t head = 0, left = 0;
	uint32_t slot = (uint32_t)(uintptr_t)arg, at = 0;
	struct ctp_thread *t = &pool.threads[slot];
	struct ctp_chunk *c = NULL, is = {.thread = slot, .use = 7, .tid = 100 + slot};
	while (head < SLOTS_EACH || !ctp_load32(&looked)) {
		if (c)
			ctp_chunk_end(c, head - is.first, 0);
		is.first = (head + CTP_CHUNK_SLOTS - 1) & ~(uint64_t)(CTP_CHUNK_SLOTS - 1);
		assert_non_null(c = ctp_chunk_take(&pool, &is, &at)); // there are more than writers
		head = is.first;
		ctp_ring_publish(t, head);
		for (left = head / CTP_CHUNK_SLOTS % 3 ? CTP_CHUNK_SLOTS : 11; left; left--) {
			struct ctp_record *r = &ctp_chunk_slots(&pool, at)[head % CTP_CHUNK_SLOTS];
			atomic_store_explicit(CTP_A64(&r->w0), head, memory_order_relaxed);
			atomic_store_explicit(CTP_A64(&r->w1), (uint64_t)slot << 32 | (uint32_t)(head * 7), memory_order_relaxed);
			ctp_ring_publish(t, ++head);
		}
	}
	ctp_add32(&writers_done, 1);
	return NULL;
}

// One look at all chunks: what is in them is whole. How many could be read.
static unsigned look_at_chunks(uint64_t *newest)
{
	static struct ctp_record copy[CTP_CHUNK_SLOTS];
	unsigned read = 0;
	for (uint32_t i = 0; i < CHUNKS; i++) {
		struct ctp_chunk is;
		if (!ctp_chunk_look(&pool, i, &is) || !ctp_chunk_read(&pool, i, &is, copy))
			continue;
		assert_true(is.thread < WRITERS);
		assert_int_equal(is.tid, 100 + is.thread);
		assert_int_equal(is.use, 7);
		assert_int_equal(is.first % CTP_CHUNK_SLOTS, 0);
		for (uint32_t k = 0; k < is.used; k++) {
			assert_int_equal(copy[k].w0, is.first + k);
			assert_int_equal(copy[k].w1, (uint64_t)is.thread << 32 | (uint32_t)(copy[k].w0 * 7));
		}
		if (is.first + is.used > newest[is.thread])
			newest[is.thread] = is.first + is.used;
		read++;
	}
	return read;
}

static void chunks_are_whole_or_not_there(void **state)
{
	(void)state;
	pthread_t t[WRITERS];
	static struct ctp_thread threads[WRITERS];
	static struct ctp_ext ext;
	uint64_t newest[WRITERS] = {0}, looks = 0;
	pool = (struct ctp_region){.threads = threads, .threads_max = WRITERS, .chunks = CHUNKS, .ext = &ext,
				   .rings = calloc(CHUNKS, CTP_CHUNK_BYTES + sizeof(struct ctp_chunk))};
	for (uintptr_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, chunk_writer, (void *)i), 0);
	while (ctp_load32(&writers_done) < WRITERS)
		ctp_store32(&looked, (looks += look_at_chunks(newest)) > 100);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	assert_true(looks > 100);
	memset(newest, 0, sizeof(newest));
	assert_int_equal(look_at_chunks(newest), CHUNKS); // at rest nothing is missing,
	uint64_t most = 0;
	for (int i = 0; i < WRITERS; i++)
		most = newest[i] > most ? newest[i] : most;
	assert_true(most >= SLOTS_EACH); // least of all the newest
	free(pool.rings);
}

static void chunks_that_threads_are_in_stay(void **state)
{
	(void)state;
	static struct ctp_thread threads[4];
	static struct ctp_ext ext;
	struct ctp_chunk is = {.thread = 0}, *c[4];
	uint32_t at;
	pool = (struct ctp_region){.threads = threads, .threads_max = 4, .chunks = 4, .ext = &ext,
				   .rings = calloc(4, CTP_CHUNK_BYTES + sizeof(struct ctp_chunk))};
	for (is.thread = 0; is.thread < 4; is.thread++)
		assert_non_null(c[is.thread] = ctp_chunk_take(&pool, &is, &at));
	assert_null(ctp_chunk_take(&pool, &is, &at));
	ctp_chunk_end(c[2], 5, 0);
	assert_ptr_equal(ctp_chunk_take(&pool, &is, &at), c[2]);
	threads[0].head = 9;
	c[0]->thread = 4; // lies
	assert_false(ctp_chunk_look(&pool, 0, &is));
	c[0]->thread = 0;
	assert_true(ctp_chunk_look(&pool, 0, &is));
	assert_int_equal(is.used, 9);
	threads[0].head = CTP_CHUNK_SLOTS + 1;
	assert_false(ctp_chunk_look(&pool, 0, &is));
	ctp_chunk_end(c[1], CTP_CHUNK_SLOTS + 1, 0);
	assert_false(ctp_chunk_look(&pool, 1, &is));
	free(pool.rings);
}

// ------------------------------------------------------------------- names

static struct ctp_name given;
static uint32_t namers;

static void *namer(void *arg)
{
	for (int i = 0; i < EVENTS / 4; i++) {
		while (!ctp_name_take(&given))
			;
		given.id = (uint64_t)*(const char *)arg;
		memset(given.text, *(const char *)arg, CTP_NAME_TEXT - 1);
		ctp_name_give(&given);
	}
	ctp_add32(&namers, 1);
	return NULL;
}

// By two at once, read meanwhile: one or the other.
static void names_are_never_torn(void **state)
{
	(void)state;
	pthread_t t[2];
	uint64_t got = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, namer, i ? "b" : "a"), 0);
	for (bool more = true; more;) {
		struct ctp_name n;
		more = ctp_load32(&namers) < 2;
		if (!ctp_name_read(&given, &n) || !n.id)
			continue;
		for (unsigned i = 0; i < CTP_NAME_TEXT - 1; i++)
			assert_int_equal(n.text[i], n.id);
		got++;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_true(got > 0);
	given.seq |= 1; // its writer was killed
	assert_false(ctp_name_read(&given, &(struct ctp_name){0}));
	assert_false(ctp_name_take(&given));
}

// ----------------------------------------------------------------- regions

static void regions_that_lie(void **state)
{
	(void)state;
	struct ctp_header good = {0}, h;
	struct ctp_region r;
	ctp_region_layout(&good, 100, 4096);
	uint64_t bytes = good.ext.region_bytes;
	assert_int_equal(ctp_region_open(&r, &good, bytes), 0);
	assert_int_equal(r.header->max_stations, 100);
	assert_int_equal(r.stations_max, 100 + r.ext->threads_max);
	assert_int_equal(r.ring_capacity, 256);
	assert_int_equal(ctp_region_open(&r, &good, bytes - 1), -EPROTO); // cut off
	assert_int_equal(ctp_region_open(&r, &good, 100), -EPROTO);
#define LIE(field, value) \
	h = good; \
	h.field = (value); \
	assert_int_equal(ctp_region_open(&r, &h, bytes), -EPROTO)
	LIE(magic, 1);
	LIE(version, 2);
	LIE(ext.magic, 0);
	LIE(ext.incidents_off, bytes);
	LIE(ext.incidents_max, 3);
	LIE(ext.sites_off, 8);
	LIE(ext.names_off, bytes);
	LIE(ext.names_off, 8);
	LIE(ext.bytes, CTP_EXT_BYTES_READ);
	good.ext.functions_max = 1;
	LIE(ext.functions_off, bytes);
	LIE(ext.functions_off, 8);
	good.ext.functions_max = 0;
	good.ext.frames_max = 4;
	LIE(ext.frames_off, bytes);
	LIE(ext.frames_off, 8);
	good.ext.frames_off = 1024;
	LIE(ext.frames_max, 3);
	LIE(ext.frames_max, 1);
	good.ext.frames_off = good.ext.frames_max = 0;
	good.ext.destroyed_max = 1;
	LIE(ext.destroyed_off, bytes);
	LIE(ext.destroyed_off, 8);
	good.ext.destroyed_max = 0;
	h = good;
	h.ext.names_off = 0; // made before there were names
	assert_int_equal(ctp_region_open(&r, &h, bytes), 0);
	assert_null(r.names);
	LIE(ext.threads_off, bytes - 64);
	LIE(ext.fds_off, ~0ULL << 6);
	LIE(ext.cands_off, 1025);
	LIE(ext.fds_max, ~0u);
	LIE(ext.rings_off, bytes);
	LIE(ext.ring_bytes, 4097);
	LIE(ext.ring_bytes, 0);
	LIE(ext.chunks, CTP_THREADS_MAX * 4096 / CTP_CHUNK_BYTES);
	LIE(ext.stations_max, CTP_STATIONS_LIMIT + CTP_STATIONS_NATIVE + 1);
	LIE(ext.guest_bytes, ~0ULL);
	h = good;
	h.ext.version = CTP_EXT_VERSION - 1;
	h.ext.bytes = CTP_EXT_BYTES_READ;
	assert_int_equal(ctp_region_open(&r, &h, bytes), -EPROTONOSUPPORT); // for who writes there
	assert_int_equal(ctp_region_read(&r, &h, bytes), 0);
	h.ext.bytes--;
	assert_int_equal(ctp_region_read(&r, &h, bytes), -EPROTO);
	h.ext.version = CTP_EXT_VERSION_READ - 1;
	assert_int_equal(ctp_region_read(&r, &h, bytes), -EPROTONOSUPPORT);
	h.ext.version = CTP_EXT_VERSION + 1;
	assert_int_equal(ctp_region_read(&r, &h, bytes), -EPROTONOSUPPORT);
}

// ------------------------------------------------------- a write within a copy

// A slot that ends on another page, where the copy of it comes last: the writer's next event comes then.
static struct ctp_slot *across;

static void writes_next(int sig)
{
	(void)sig;
	mprotect((char *)(&across->seq + 1), 4096, PROT_READ | PROT_WRITE);
	ctp_slot_write(across, 1 + CTP_SLOTS, 7, 8, 9, true);
}

static void a_slot_that_is_written_meanwhile(void **state)
{
	(void)state;
	struct ctp_slot out;
	struct sigaction act = {.sa_handler = writes_next}, old;
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	across = (struct ctp_slot *)(two + 4096 - offsetof(struct ctp_slot, seq) - sizeof(across->seq));
	ctp_slot_write(across, 1, 1, 2, 3, false);
	assert_int_equal(mprotect(two + 4096, 4096, PROT_NONE), 0);
	assert_int_equal(sigaction(SIGSEGV, &act, &old), 0);
	uint64_t n = ctp_slot_read(across, 0, 0, &out);
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(ctp_slot_read(across, 0, 0, &out), 1 + CTP_SLOTS);
	assert_int_equal(out.tid, 8);
	munmap(two, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_never_torn), cmocka_unit_test(a_slot_that_is_written_meanwhile),
		cmocka_unit_test(states_are_never_torn),
		cmocka_unit_test(rings_lose_nothing_uncounted), cmocka_unit_test(the_reader_is_late_from_half_on),
		cmocka_unit_test(a_ring_that_lies), cmocka_unit_test(chunks_are_whole_or_not_there),
		cmocka_unit_test(chunks_that_threads_are_in_stay),
		cmocka_unit_test(names_are_never_torn), cmocka_unit_test(regions_that_lie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
//
// Tests of preload/coroutine/stack_index.c and stack_span.c: places of one page that two threads take at the
// same time; stacks that are made where others were, of all kinds of bounds, against a plain list of them.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "preload/coroutine/inherit.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/stack_span.h"
#include "preload/coroutine/station.h"

enum { ROUNDS = 15000, THREADS = 2, EACH = 3, ALL = ROUNDS * THREADS * EACH };

struct tracer *ctp_tracer;
static struct ctp_state stations[ALL];

struct ctp_state *station_at(uint32_t number)
{
	return number ? &stations[number - 1] : NULL;
}

struct ctp_state *inherit_meet(uint64_t addr)
{
	return NULL;
}

void inherit_forget(uint64_t lo, uint64_t hi) {}

void *memory_take(uint64_t size)
{
	void *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

// Each round has a page of its own, which has room for all slots of both threads.
static void *adds(void *arg)
{
	static uint32_t arrived;
	for (int i = 0; i < ROUNDS; i++) {
		struct ctp_state *mine = &stations[(i * THREADS + (int)(intptr_t)arg) * EACH];
		__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
		for (int k = 1; __atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < (uint32_t)(i + 1) * THREADS;
		     k++)
			if (k % 4096 == 0) // there may be no other CPU for it
				sched_yield();
		for (int k = 0; k < EACH; k++)
			stack_index_add_slot(&mine[k]);
	}
	return NULL;
}

static void test_slots_at_the_same_time(void **state)
{
	pthread_t thread;
	for (uint32_t i = 0; i < ALL; i++) {
		uint64_t page = 0x100000 + i / (THREADS * EACH), at = i % (THREADS * EACH) * 64;
		stations[i] =
			(struct ctp_state){.station = i, .slot = page * 4096 + at, .life = CTP_SUSPENDED};
	}
	assert_int_equal(pthread_create(&thread, NULL, adds, (void *)1), 0);
	adds(NULL);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int i = 0; i < ALL; i++)
		assert_ptr_equal(stack_index_slot(stations[i].slot), &stations[i]);
}

static void test_a_slot_changes_hands(void **state)
{
	uint64_t slot = 0x200000040;
	struct ctp_state *one = &stations[0], *two = &stations[1];
	*one = (struct ctp_state){.station = 0, .slot = slot, .life = CTP_SUSPENDED};
	*two = (struct ctp_state){.station = 1, .slot = slot, .life = CTP_SUSPENDED};
	stack_index_add_slot(one);
	assert_ptr_equal(stack_index_slot(slot), one);
	stack_index_add_slot(two);
	assert_ptr_equal(stack_index_slot(slot), two);
	assert_int_equal(one->slot, 0);
	one->slot = slot; // whose number is there still
	stack_index_add_slot(one);
	assert_ptr_equal(stack_index_slot(slot), one);
	assert_int_equal(two->slot, 0);
}

enum { KIB = 1024, PAGE = 4096, PLACES = 24, LIVING = 64, TURNS = 30000 };
static uint32_t next_station, random_state = 7;

static uint32_t some(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % below;
}

// As the library does it: who loses its stack is no more.
static void taken(struct ctp_state *old, void *arg)
{
	++*(int *)arg;
	old->life = CTP_DESTROYED;
	old->flags |= CTP_STATE_STACK_FREED;
}

static struct ctp_state *make(uint64_t lo, uint64_t hi, int *lost)
{
	struct ctp_state *s = &stations[next_station % ALL];
	*s = (struct ctp_state){.station = next_station++ % ALL, .lo = lo, .hi = hi, .life = CTP_SUSPENDED};
	stack_index_add_stack(s, taken, lost);
	return s;
}

// (Its lowest address is also the end of the one below.)
static bool has_its_pages(struct ctp_state *s)
{
	bool all = stack_index_known(s->lo + 1) == s && stack_index_known(s->hi - 1) == s;
	for (uint64_t at = s->lo + 1; at < s->hi; at += PAGE / 4)
		all = all && stack_index_known(at) == s;
	return all;
}

static void assert_has(struct ctp_state *s)
{
	assert_true(has_its_pages(s));
}

static void found(struct ctp_state *s, void *arg)
{
	if (s == *(struct ctp_state **)arg)
		*(struct ctp_state **)arg = NULL;
}

static void assert_lies_in(struct ctp_state *s, uint64_t lo, uint64_t hi)
{
	struct ctp_state *sought = s;
	stack_index_range(lo, hi, false, found, &sought);
	assert_null(sought);
}

static bool has_span(uint64_t lo, uint64_t hi)
{
	uint32_t was;
	return span_again(lo, hi, 0, &was) && span_again(lo, hi, was, &was);
}

// From its third stack on a place is entered by one store, until another takes a part of it.
static void test_a_place_comes_again(void **state)
{
	uint64_t lo = 0x300000810, hi = lo + 200 * KIB, next = lo + 400 * KIB;
	int lost = 0;
	make(lo - 64 * KIB, lo, &lost);
	make(lo, hi, &lost);
	assert_false(has_span(lo, hi));
	make(lo, hi, &lost);
	assert_int_equal(lost, 1);
	assert_true(has_span(lo, hi));
	for (int i = 0; i < 5; i++) {
		assert_has(make(lo, hi, &lost));
		assert_has(make(hi, next, &lost)); // in the same page as the one's last
		assert_true(has_span(lo, hi));
	}
	struct ctp_state *a = make(lo, hi, &lost), *b = make(hi, next, &lost);
	assert_has(a);
	assert_has(b);
	assert_lies_in(a, lo + 100 * KIB, lo + 101 * KIB);
	assert_lies_in(b, lo, next);
	assert_lies_in(b, next - 10, next + 10);
	lost = 0;
	struct ctp_state *c = make(hi - 10 * KIB, hi, &lost);
	assert_int_equal(lost, 1);
	assert_false(has_span(lo, hi));
	assert_true(has_span(hi, next));
	assert_has(b);
	assert_has(c);
	assert_has(make(lo, hi, &lost));
	assert_int_equal(lost, 3); // c, and a once more, which most of the pages name
	assert_has(make(lo, hi, &lost));
	assert_true(has_span(lo, hi));
	assert_has(make(lo - 1024, lo - 512, &lost)); // in the first page of it, which can name two alone
	assert_false(has_span(lo, hi));
}

static void test_as_a_list_has_it(void **state)
{
	struct ctp_state *living[LIVING] = {0};
	uint64_t base = 0x400000000;
	for (int i = 0, lost = 0; i < TURNS; i++) {
		uint32_t place = some(PLACES), unlike = some(8);
		uint64_t lo = base + place * (101 * KIB + 16), hi = lo + 101 * KIB + 16;
		if (unlike == 0)
			lo = base + some(PLACES * 101 * 64) * 16,
			hi = lo + 2 * PAGE + some(40 * PAGE / 16) * 16;
		struct ctp_state *s = make(lo, hi, &lost), **free = NULL;
		for (int k = 0; k < LIVING; k++) {
			struct ctp_state *o = living[k];
			if (o && o->lo < hi && o->hi > lo) {
				assert_int_equal(o->life, CTP_DESTROYED);
				living[k] = NULL;
			}
			if (!living[k])
				free = &living[k];
		}
		assert_non_null(free);
		*free = s;
		struct ctp_state *any = living[some(LIVING)];
		assert_has(s);
		if (any) {
			uint64_t at = any->lo + some((uint32_t)(any->hi - any->lo));
			assert_has(any);
			assert_lies_in(any, at - some(64 * PAGE), at + 1 + some(64 * PAGE));
		}
	}
}

// Many more places than there are spans.
static void test_more_places_than_spans(void **state)
{
	int lost = 0, spans = 0;
	for (int turn = 0; turn < 3; turn++)
		for (uint64_t i = 0; i < 20000; i++) {
			struct ctp_state *s =
				make(0x500000000 + i * 64 * KIB, 0x500000000 + (i + 1) * 64 * KIB, &lost);
			assert_ptr_equal(stack_index_known(s->lo + 40 * KIB), s);
			spans += turn == 2 && has_span(s->lo, s->hi);
		}
	assert_int_equal(lost, 40000);
	assert_lies_in(&stations[(next_station - 1) % ALL], 0x500000000, 0x500000000 + 20000ULL * 64 * KIB);
	assert_true(spans > 5000);
	for (uint32_t i = next_station - 20000; i < next_station; i++)
		stations[i % ALL].life = CTP_FINISHED; // their spans may become others'
	for (uint64_t i = 0; i < 60000; i++)
		make(0x600000000 + i / 3 * 64 * KIB, 0x600000000 + (i / 3 + 1) * 64 * KIB, &lost);
	for (uint32_t i = next_station - 80000; i < next_station - 60000; i++)
		assert_has(&stations[i % ALL]);
}

enum { NEIGHBOURS = 2000 };

// Each has every second place of a row, whose pages they share.
static void *neighbour(void *arg)
{
	struct ctp_state *mine = &stations[(intptr_t)arg * NEIGHBOURS];
	int lost = 0;
	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		stack_index_add_stack(&mine[i], taken, &lost);
		if (!has_its_pages(&mine[i]))
			return "its pages name another";
	}
	return lost == NEIGHBOURS - 7 ? NULL : "others were told than those who were there";
}

static void test_neighbours_at_the_same_time(void **state)
{
	pthread_t thread;
	for (uint32_t i = 0; i < THREADS * NEIGHBOURS; i++) {
		uint64_t lo = 0x700000000 + (i % NEIGHBOURS % 7 * 2 + i / NEIGHBOURS) * (50 * KIB + 16);
		stations[i] = (struct ctp_state){
			.station = i, .lo = lo, .hi = lo + 50 * KIB + 16, .life = CTP_SUSPENDED};
	}
	assert_int_equal(pthread_create(&thread, NULL, neighbour, (void *)1), 0);
	void *there, *here = neighbour(NULL);
	assert_int_equal(pthread_join(thread, &there), 0);
	assert_null(here);
	assert_null(there);
}

static int begin(void **state)
{
	return stack_index_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_at_the_same_time),
		cmocka_unit_test(test_a_slot_changes_hands),
		cmocka_unit_test(test_a_place_comes_again),
		cmocka_unit_test(test_as_a_list_has_it),
		cmocka_unit_test(test_more_places_than_spans),
		cmocka_unit_test(test_neighbours_at_the_same_time),
	};
	return cmocka_run_group_tests(tests, begin, NULL);
}

// SPDX-License-Identifier: MIT
//
// Tests of preload/coroutine/stack_index.c: places of one page that two threads take at the same time.
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
#include "preload/coroutine/station.h"

enum { ROUNDS = 10000, THREADS = 2, EACH = 3, ALL = ROUNDS * THREADS * EACH };

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

static int begin(void **state)
{
	return stack_index_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_at_the_same_time),
		cmocka_unit_test(test_a_slot_changes_hands),
	};
	return cmocka_run_group_tests(tests, begin, NULL);
}

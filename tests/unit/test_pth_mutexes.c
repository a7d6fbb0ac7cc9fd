// SPDX-License-Identifier: MIT
//
// Circles of mutexes of GNU Pth, in a memory of our own: what is one, and what only looks like it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/memory/pth_mutexes.h"
#include "hubs_memory.h"

// The program's memory: control blocks, then events and mutexes, then a stack for each.
enum { MEMBERS = 4, STACK = 0x1000, CONTEXT = 0x108, EVENTS = 0x78, HAS = 0x5c0 };
#define BLOCKS BASE
#define THINGS (BASE + 0x4000)
#define STACKS (BASE + 0x6000)

static struct hubs_member members[MEMBERS];
static struct hubs_query query;
static struct cycle_hubs_circle found[2];

static uint64_t block(unsigned i)
{
	return BLOCKS + 0x200 + 0xc00 * i;
}

static uint64_t event(unsigned i)
{
	return THINGS + 0x100 * i;
}

static uint64_t mutex(unsigned i)
{
	return THINGS + 0x1000 + 0x40 * i;
}

static void waits(unsigned i, unsigned m)
{
	*word(event(i)) = *word(event(i) + 8) = event(i);
	*word(event(i) + 32) = mutex(m);
	*word(block(i) + EVENTS) = event(i);
}

static void has(unsigned i, unsigned m)
{
	*word(mutex(m)) = *word(mutex(m) + 8) = mutex(m);
	*word(mutex(m) + 16) = 3;
	*word(mutex(m) + 24) = block(i);
	*word(mutex(m) + 32) = 1;
	*word(block(i) + HAS) = mutex(m);
}

static int begin(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	for (unsigned i = 0; i < MEMBERS; i++)
		members[i] = (struct hubs_member){ .id = i + 1, .slot = block(i) + CONTEXT,
						   .stack = { STACKS + STACK * i, STACKS + STACK * (i + 1) },
						   .sp = STACKS + STACK * i + STACK / 2, .pc = 0x401000 };
	query = (struct hubs_query){ members, MEMBERS, NULL, is_data, peek, NULL, NULL, late, NULL, NULL, NULL };
	for (unsigned i = 0; i < 2; i++) {
		has(i, i);
		waits(i, 1 - i);
	}
	return 0;
}

static int find(void)
{
	struct hubs h;
	assert_int_equal(hubs_init(&h, &query), 0);
	int n = pth_mutexes_find(&h, found, 2);
	hubs_deinit(&h);
	return n;
}

static void two_in_both_orders(void **state)
{
	(void)state;
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].n, 2);
	assert_true(found[0].firm);
	assert_true(found[0].at[0].member == 0 && found[0].at[0].hub == mutex(1));
	assert_true(found[0].at[1].member == 1 && found[0].at[1].hub == mutex(0));
}

static void three_and_one_who_waits_for_them(void **state)
{
	(void)state;
	waits(1, 2);
	has(2, 2);
	waits(2, 0);
	waits(3, 0);
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].n, 3);
}

static void a_time_limit_is_a_second_event(void **state)
{
	(void)state;
	*word(event(0)) = *word(event(0) + 8) = event(3);
	assert_int_equal(find(), 0);
}

static void who_has_it_does_not_wait(void **state)
{
	(void)state;
	*word(block(1) + EVENTS) = 0;
	assert_int_equal(find(), 0);
}

static void it_is_free(void **state)
{
	(void)state;
	*word(mutex(0) + 16) = 1;
	assert_int_equal(find(), 0);
}

static void its_owner_has_no_such_mutex(void **state)
{
	(void)state;
	*word(block(0) + HAS) = 0;
	assert_int_equal(find(), 0);
}

static void its_owner_has_two(void **state)
{
	(void)state;
	*word(mutex(3)) = *word(mutex(3) + 8) = mutex(0);
	*word(mutex(0)) = *word(mutex(0) + 8) = mutex(3);
	*word(block(0) + HAS) = mutex(3);
	assert_int_equal(find(), 1);
}

static void a_handle_is_not_like_the_others(void **state)
{
	(void)state;
	*word(mutex(0) + 24) = block(0) + 8;
	assert_int_equal(find(), 0);
}

static void one_has_what_it_waits_for(void **state)
{
	(void)state;
	waits(0, 0);
	assert_int_equal(find(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(two_in_both_orders, begin),
		cmocka_unit_test_setup(three_and_one_who_waits_for_them, begin),
		cmocka_unit_test_setup(a_time_limit_is_a_second_event, begin),
		cmocka_unit_test_setup(who_has_it_does_not_wait, begin),
		cmocka_unit_test_setup(it_is_free, begin),
		cmocka_unit_test_setup(its_owner_has_no_such_mutex, begin),
		cmocka_unit_test_setup(its_owner_has_two, begin),
		cmocka_unit_test_setup(a_handle_is_not_like_the_others, begin),
		cmocka_unit_test_setup(one_has_what_it_waits_for, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

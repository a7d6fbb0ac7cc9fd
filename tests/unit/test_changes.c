// SPDX-License-Identifier: MIT
//
// Entities that only state changes describe: the last change counts, gaps are counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/changes.h"

static struct changes c;

static int teardown(void **state)
{
	(void)state;
	changes_deinit(&c);
	return 0;
}

static void add(uint64_t id, uint64_t n, bool active)
{
	struct change one = { .id = id, .n = n, .ns = 10 * n, .active = active };
	assert_int_equal(changes_add(&c, &one), 0);
}

static void counts_are(uint64_t suspended, uint64_t running, uint64_t finished)
{
	struct changes_count n = changes_count(&c);
	assert_int_equal(n.suspended, suspended);
	assert_int_equal(n.running, running);
	assert_int_equal(n.finished, finished);
}

static void the_last_change_counts(void **state)
{
	(void)state;
	add(1, 1, true);
	add(2, 1, true);
	counts_are(0, 2, 0);
	add(1, 2, false);
	counts_are(1, 1, 0);
	add(1, 3, true);
	counts_are(0, 2, 0);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.missing, 0);
	assert_int_equal(c.items[0].ns, 30);
}

static void the_end_of_one(void **state)
{
	struct change last = { .id = 1, .n = 2, .finished = true };
	(void)state;
	add(1, 1, true);
	assert_int_equal(changes_add(&c, &last), 0);
	counts_are(0, 0, 1);
}

static void threads_own_stacks_are_no_coroutines(void **state)
{
	struct change native = { .id = 1, .n = 1, .native = true };
	(void)state;
	assert_int_equal(changes_add(&c, &native), 0);
	counts_are(0, 0, 0);
	assert_int_equal(c.n, 1);
}

static void gaps_are_missing_changes(void **state)
{
	(void)state;
	add(1, 4, true); // the first three were overwritten before they were read
	assert_int_equal(c.missing, 3);
	add(1, 5, false);
	assert_int_equal(c.missing, 3);
	add(1, 8, true);
	assert_int_equal(c.missing, 5);
}

// Engines of version 1 write a number again at each lap: no gap, and what was counted stays.
static void a_number_that_comes_again_is_no_gap(void **state)
{
	(void)state;
	add(1, 1, true);
	add(1, 2, false);
	add(1, 2, true);
	add(1, 1, false);
	assert_int_equal(c.missing, 0);
	assert_int_equal(c.items[0].n, 2);
	counts_are(1, 0, 0); // as of the line that came last
	add(1, 3, true);
	assert_int_equal(c.missing, 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_last_change_counts),
		TEST(the_end_of_one),
		TEST(threads_own_stacks_are_no_coroutines),
		TEST(gaps_are_missing_changes),
		TEST(a_number_that_comes_again_is_no_gap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

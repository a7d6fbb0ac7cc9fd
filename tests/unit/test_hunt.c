// SPDX-License-Identifier: MIT
//
// When a program that ticks may be looked at.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/stackless/hunt.h"

#define MS 1000000ULL
enum { TURN = 5 };

// A thread runs for one millisecond every `period`. How much of a pause is left at the first look, in ms? -1: none is
// made within a second. Checks are made as the watch makes them: every 30 ms, and at each turn of a hunt.
static int left_of_pause(unsigned period, unsigned first, bool cut)
{
	struct hunt h = {0};
	for (unsigned at = first, last = first, ran = first; at < first + 1000; last = at) {
		at += h.end_ns ? TURN : 30;
		ran = (at - 1) / period * period + 1;
		if (hunt_rests(&h, ran <= last, cut, MS / 100, at * MS))
			return (int)(period - at % period);
	}
	return -1;
}

static void of_one_that_is_idle(void **state)
{
	struct hunt h = {0};
	(void)state;
	assert_true(hunt_rests(&h, true, false, 0, 30 * MS));
	assert_false(hunt_rests(&h, true, true, 0, 60 * MS)); // it may tick
	assert_false(hunt_rests(&h, true, true, 0, 200 * MS));
	assert_false(hunt_rests(&h, true, true, 0, 500 * MS)); // it has not
	assert_true(hunt_rests(&h, true, true, 0, 530 * MS));
}

// Where a look was cut short, the next is made at the begin of a pause.
static void of_one_that_ticks(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 200; first += 7) {
		assert_true(left_of_pause(200, first, true) >= 180);
		assert_true(left_of_pause(20, first, false) >= 9);
	}
}

static void that_costs_too_much(void **state)
{
	struct hunt h = {0};
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_false(hunt_rests(&h, false, false, 100 * MS, i * MS)); // one begins
	assert_false(hunt_rests(&h, false, false, 100 * MS, 90 * MS));
	assert_int_equal(h.end_ns, 0);
	for (unsigned i = 0; i < 18; i++)
		assert_false(hunt_rests(&h, false, false, 0, (100 + 100 * i) * MS));
	assert_int_equal(h.end_ns, 0); // of two seconds a twentieth
	assert_false(hunt_rests(&h, false, false, 0, 2200 * MS));
	assert_int_not_equal(h.end_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_one_that_is_idle), cmocka_unit_test(of_one_that_ticks),
					   cmocka_unit_test(that_costs_too_much)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

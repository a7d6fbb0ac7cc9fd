// SPDX-License-Identifier: MIT
//
// When a suspect is looked at again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctp/rules.h"
#include "engine/witness/next_look.h"

#define MS 1000000ULL
#define FOUND (1000 * MS)
#define SLOW (FOUND + NEXT_LOOK_SLOW_NS)

static struct suspect one(enum holds p3, unsigned inspections)
{
	struct suspect s = {.rule = RULE_ABANDONED, .found_ns = FOUND, .inspections = inspections};
	s.a[PROOF_P3].holds = p3;
	return s;
}

static void time_that_doubles(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct suspect s = one(HOLDS_TRUE, i);
		uint64_t ms = i < 6 ? 100ULL << i : 5000;
		assert_int_equal(next_look_ns(&s, false, FOUND), FOUND + ms * MS);
		assert_int_equal(next_look_ns(&s, true, FOUND), FOUND + 30 * MS);
	}
}

// Of what has stood for two seconds more can be told: it is looked at then, and not long after.
static void when_it_can_be_decided(void **state)
{
	struct suspect s = one(HOLDS_OPEN, 5);
	(void)state;
	assert_int_equal(next_look_ns(&s, false, FOUND + 1000 * MS), SLOW + 1);
	assert_int_equal(next_look_ns(&s, true, FOUND + 1000 * MS), FOUND + 1030 * MS);
	assert_int_equal(next_look_ns(&s, false, SLOW + 1), SLOW + 1 + 3200 * MS);
	s = one(HOLDS_TRUE, 5);
	assert_int_equal(next_look_ns(&s, false, FOUND + 1000 * MS), FOUND + 4200 * MS);
	s = one(HOLDS_OPEN, 5);
	s.rule = 0; // its descriptor was closed
	assert_int_equal(next_look_ns(&s, false, FOUND + 1000 * MS), FOUND + 4200 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(time_that_doubles), cmocka_unit_test(when_it_can_be_decided)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

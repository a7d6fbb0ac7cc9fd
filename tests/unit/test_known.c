// SPDX-License-Identifier: MIT
//
// What the tables have of an attached process: a search leaves it out by its stack pointer, or by its thread.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ps/read/known.h"

static void stacks_and_threads(void **state)
{
	struct span stacks[] = {{0x1000, 0x2000}, {0x5000, 0x5001}};
	int tids[] = {7, 12};
	const struct known k = {.stacks = stacks, .nstacks = 2, .tids = tids, .ntids = 2};
	assert_true(known_has(&k, 0x1ff8, 0));
	assert_false(known_has(&k, 0x2000, 0));
	assert_true(known_has(&k, 0x5000, 0)); // bounds are not known, where it stands is
	assert_false(known_has(&k, 0x5008, 0));
	assert_true(known_has(&k, 0x9000, 12)); // a thread runs it that the tables have
	assert_false(known_has(&k, 0x9000, 8));
	const struct known none = {.nstacks = 0};
	assert_false(known_has(&none, 0x1ff8, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(stacks_and_threads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

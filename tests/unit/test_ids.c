// SPDX-License-Identifier: MIT
//
// Blocks of ids: no two living processes share one, and ended ones' are used on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/start/ids.h"

static void test_blocks(void **state)
{
	struct ids ids = { 0 };
	uint64_t a, b, c;
	int one = ids_take(&ids, &a), two = ids_take(&ids, &b);
	assert_int_equal(a, IDS_FIRST);
	assert_int_equal(b, IDS_FIRST + IDS_BLOCK);
	ids_give(&ids, one, a + 41);
	assert_int_equal(ids_take(&ids, &c), one); // where the last one ended
	assert_int_equal(c, a + 41);
	ids_give(&ids, one, c + IDS_BLOCK / 2 + 1);
	assert_int_not_equal(ids_take(&ids, &c), one); // more than half is used
	assert_int_equal(c, IDS_FIRST + 2 * IDS_BLOCK);
	ids_give(&ids, two, 0); // what a region says is not believed blindly
	assert_int_equal(ids_take(&ids, &c), two);
	assert_int_equal(c, b);
	ids_give(&ids, -1, 0);
	ids_deinit(&ids);
}

static void test_end(void **state)
{
	struct ids ids = { 0 };
	uint64_t used = 0, last = 0;
	for (int i = 0; i < IDS_BLOCKS; i++) {
		assert_int_equal(ids_take(&ids, &used), i);
		assert_true(used > last);
		last = used;
	}
	assert_true(last + IDS_BLOCK < 1ULL << 39); // version-1 stations begin there
	assert_int_equal(ids_take(&ids, &used), -1);
	ids_deinit(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_blocks), cmocka_unit_test(test_end) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

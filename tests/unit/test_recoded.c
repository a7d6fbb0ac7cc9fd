// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/memory/recoded.h"

#define BLOCK 0x55d0c0ffee10
#define STACK 0x7f3a91c04000

static void words_of_an_address(void **state)
{
	struct span spans[] = {{BLOCK, BLOCK + 64}, {STACK, STACK + 4096}};
	struct graph g = {.spans = spans, .nspans = 2};
	struct recoded r = {0};
	(void)state;
	uint64_t swapped = __builtin_bswap64(BLOCK), turned = ~(uint64_t)BLOCK << 16 | ~(uint64_t)BLOCK >> 48;
	assert_int_equal(recoded_find(&r, &g, ~swapped), BLOCK);
	assert_int_equal(recoded_find(&r, &g, swapped), BLOCK);
	assert_int_equal(recoded_find(&r, &g, turned), BLOCK);
	assert_int_equal(recoded_find(&r, &g, __builtin_bswap64(-(uint64_t)STACK)), STACK);
	assert_int_equal(recoded_find(&r, &g, swapped + 1), 0);
	assert_int_equal(recoded_find(&r, &g, __builtin_bswap64(BLOCK + 8)), 0); // not where it begins
	assert_int_equal(recoded_find(&r, &g, 0), 0);
	recoded_deinit(&r);
}

static void nobody_is_looked_for(void **state)
{
	struct graph g = {0};
	struct recoded r = {0};
	(void)state;
	assert_int_equal(recoded_find(&r, &g, 1), 0);
	recoded_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_an_address),
		cmocka_unit_test(nobody_is_looked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
//
// Records that cannot be so are counted, and no others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/order.h"

static uint64_t wrong(struct order *o, uint64_t time, uint64_t to, uint64_t n)
{
	uint64_t before = o->wrong;
	struct ctp_event e = { .time = time, .kind = CTP_EV_SWITCH, .a = 1, .b = to, .b_n = n & CTP_SHORT_MASK };
	assert_int_equal(order_add(o, &e, 1), 0);
	return o->wrong - before;
}

static void numbers_rise(void **state)
{
	(void)state;
	struct order o = { 0 };
	for (uint64_t n = 1; n < 3ULL << CTP_SHORT_BITS; n += 1001)
		for (uint64_t id = 2; id < 20; id++)
			assert_int_equal(wrong(&o, n * 10 + id, id, n + id), 0);
	order_stream(&o);
	assert_int_equal(wrong(&o, 5, 2, 100), 0); // another stream: nothing is known of it
	assert_int_equal(wrong(&o, 6, 2, 100), 1);
	assert_int_equal(wrong(&o, 7, 2, 99), 1);
	assert_int_equal(wrong(&o, 7, 2, 100), 0);
	assert_int_equal(wrong(&o, 1ULL << 40, 2, 99), 0); // much was lost between
	order_deinit(&o);
}

static void times_do_not_fall(void **state)
{
	(void)state;
	struct order o = { 0 };
	struct ctp_event e = { .kind = CTP_EV_CREATE, .falls = true };
	assert_int_equal(order_add(&o, &e, 1), 0);
	assert_int_equal(o.wrong, 1);
	order_deinit(&o);
	order_deinit(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_rise), cmocka_unit_test(times_do_not_fall) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

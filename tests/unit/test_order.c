// SPDX-License-Identifier: MIT
//
// Records that cannot be so are counted, and no others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/stream/tally.h"

static uint64_t wrong(struct order *o, uint64_t time, uint64_t to, uint64_t n)
{
	uint64_t before = o->wrong;
	assert_int_equal(order_entered(o, to, n & CTP_SHORT_MASK, time), 0);
	return o->wrong - before;
}

static void numbers_rise(void **state)
{
	(void)state;
	struct order o = { 0 };
	for (uint64_t n = 1; n < 3ULL << CTP_SHORT_BITS; n += 1001)
		for (uint64_t id = 2; id < 20; id++)
			assert_int_equal(wrong(&o, n * 10 + id, id, n + id), 0);
	order_deinit(&o);
	assert_int_equal(wrong(&o, 5, 2, 100), 0); // another stream: nothing is known of it
	assert_int_equal(wrong(&o, 6, 2, 100), 1);
	assert_int_equal(wrong(&o, 7, 2, 99), 1);
	assert_int_equal(wrong(&o, 7, 2, 100), 0);
	assert_int_equal(wrong(&o, 1ULL << 40, 2, 99), 0); // much was lost between
	order_deinit(&o);
}

// What is counted slot by slot must be what events made of the same slots would say.
static void counts_as_read(void **state)
{
	(void)state;
	struct ctp_record slots[4096];
	uint64_t seed = 1;
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < 4096; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			static const uint8_t kinds[] = { 17, 17, 17, 23, 18, CTP_EV_SWITCH, CTP_EV_REST, CTP_EV_THREAD, CTP_EV_CREATE, 0, 16, 200 };
			uint64_t kind = kinds[seed >> 33 & 7 ? seed >> 40 & 3 : (seed >> 40) % sizeof(kinds)];
			slots[i] = (struct ctp_record){ kind | (i + 8ULL - (seed >> 60 == 9 ? 5 : 0)) << 8,
							(seed >> 20 & 15) | (i / 8 % 4096ULL) << 42 };
		}
		struct ctp_cursor read = { .time = round % 3, .near = 7, .native = 3 }, counted = read;
		struct tally t = { 0 };
		struct order o = { 0 };
		uint64_t kinds[256] = { 0 }, events = 0;
		for (size_t i = 0; i < 4096; events++) {
			struct ctp_event e;
			unsigned took = ctp_record_read(&read, slots + i, 4096 - i, &e), kind = ctp_record_kind(slots + i);
			if (took && e.kind == CTP_EV_SWITCH && e.b)
				order_entered(&o, e.b, e.b_n, e.time);
			o.wrong += took && e.falls;
			kinds[took ? e.kind : ctp_kind_is_long(kind) ? 0 : kind]++;
			i += took ? took : 1;
		}
		assert_int_equal(tally_slots(&t, &counted, slots, 4096), 0);
		assert_memory_equal(t.kinds, kinds, sizeof(kinds));
		assert_true(counted.time == read.time && counted.near == read.near && counted.current == read.current);
		assert_true(counted.native == read.native && counted.n == read.n);
		assert_int_equal(t.events, events);
		assert_int_equal(t.order.wrong, o.wrong);
		assert_true(o.wrong > 0 && kinds[CTP_EV_SWITCH] > 1000 && kinds[0] && kinds[200]);
		order_deinit(&o);
		order_deinit(&t.order);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_rise), cmocka_unit_test(counts_as_read) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
//
// What became of coroutines as their records alone tell it: in any order of
// threads, and where records were lost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/history.h"

static struct ctp_event record(uint64_t time, enum ctp_kind kind, unsigned how, uint64_t a, uint64_t b)
{
	return (struct ctp_event){ .time = time, .kind = (uint8_t)kind, .how = (uint8_t)how, .a = a, .b = b };
}

static void add(struct history *h, struct ctp_event e)
{
	assert_int_equal(history_add(h, &e, 1), 0);
}

static void newest_record_counts(void **state)
{
	struct history h = { 0 };
	struct image_counts n;
	(void)state;
	// the second thread's records come first: 7 went on there last
	add(&h, record(50, CTP_EV_SWITCH, CTP_HOW_SWAP, 2, 7));
	add(&h, record(5, CTP_EV_THREAD, 0, 1, 0));
	add(&h, record(6, CTP_EV_THREAD, 0, 2, 0));
	add(&h, record(10, CTP_EV_CREATE, 0, 7, 1));
	add(&h, record(11, CTP_EV_CREATE, 0, 8, 1));
	add(&h, record(20, CTP_EV_SWITCH, CTP_HOW_SWAP, 1, 7));
	add(&h, record(30, CTP_EV_SWITCH, CTP_HOW_SWAP, 7, 1));
	history_count(&h, &n);
	assert_int_equal(n.running, 1);
	assert_int_equal(n.created, 1);
	assert_int_equal(n.suspended, 0);
	add(&h, record(60, CTP_EV_SWITCH, CTP_HOW_RETURN, 7, 2));
	add(&h, record(61, CTP_EV_DESTROY, 0, 8, 0));
	add(&h, record(62, CTP_EV_FINISH, 0, 9, 0)); // all else of 9 was lost
	history_count(&h, &n);
	assert_int_equal(n.running + n.created + n.suspended, 0);
	assert_int_equal(n.finished, 2);
	assert_int_equal(n.destroyed, 1);
	assert_int_equal(h.last, 62);
	history_deinit(&h);
}

static void numbers_go_before_clocks(void **state)
{
	struct image_counts n;
	(void)state;
	for (unsigned later = 0; later < 2; later++) { // 7 went on on the one thread, and left on the other, whose clock is behind
		struct history h = { 0 };
		struct ctp_event on = record(1050, CTP_EV_SWITCH, CTP_HOW_SWAP, 1, 7), off = record(1040, CTP_EV_SWITCH, CTP_HOW_SWAP, 7, 2);
		on.b_n = CTP_SHORT_MASK;
		off.a_n = 0;
		on.a_n = 5;
		off.b_n = 6;
		add(&h, later ? on : off);
		add(&h, later ? off : on);
		history_count(&h, &n);
		assert_int_equal(n.suspended, 2); // 1 and 7
		assert_int_equal(n.running, 1);
		history_deinit(&h);
	}
}

static void nobody_is_counted(void **state)
{
	struct history h = { 0 };
	struct image_counts n;
	(void)state;
	add(&h, record(1, CTP_EV_SWITCH, CTP_HOW_SWAP, 0, 0)); // no ids
	add(&h, record(UINT64_MAX, UINT8_MAX, 1, UINT64_MAX, UINT64_MAX)); // of no kind that is known
	history_count(&h, &n);
	assert_int_equal(n.created + n.suspended + n.running + n.finished + n.destroyed, 0);
	assert_int_equal(h.n, 0);
	history_deinit(&h);
	history_deinit(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_record_counts), cmocka_unit_test(numbers_go_before_clocks), cmocka_unit_test(nobody_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
//
// The adaptive clock: how many switches share a reading at which rate, what is said to those who left in a
// window that was long, and what a reader makes of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "preload/guest/clock.h"

static struct tracer tracer;
struct tracer *ctp_tracer = &tracer;
static struct ctp_thread row;
static struct thread_ctx g;
static uint64_t now;

uint64_t guest_now(void)
{
	return now;
}

static int begin(void **state)
{
	(void)state;
	memset(&row, 0, sizeof(row));
	tracer = (struct tracer){.tsc = true, .adaptive = true};
	g = (struct thread_ctx){.slot = 3, .thread = &row};
	now = 1000000;
	clock_begin(&g);
	return 0;
}

static void passes(uint64_t records, uint64_t ticks_each)
{
	row.head += records;
	now += records * ticks_each;
	clock_rate(&g, now);
}

static void test_rate(void **state)
{
	(void)state;
	assert_int_equal(g.clock_next, 0);
	passes(1024, 5000); // two hundred thousand a second
	assert_int_equal(g.clock_next, 0);
	assert_false(clock_is_open(&g));
	passes(1024, 1500);
	assert_int_equal(g.clock_next, 1);
	assert_int_equal(g.clock_mask, 0); // a reading comes first
	clock_close(&g, now += 100);
	assert_int_equal(g.clock_mask, 1);
	passes(1024, 50);
	assert_int_equal(g.clock_next, GUEST_WINDOW - 1);
	passes(100, 90000); // too few to tell
	assert_int_equal(g.clock_next, GUEST_WINDOW - 1);
	passes(1024, 5000);
	assert_int_equal(g.clock_next, 0);
	tracer.adaptive = false;
	passes(1024, 50);
	assert_int_equal(g.clock_next, 0);
}

static void test_sparse(void **state)
{
	(void)state;
	tracer = (struct tracer){.tsc = true, .sparse = true};
	g.clock_next = 0;
	clock_begin(&g);
	assert_int_equal(g.clock_next, GUEST_WINDOW - 1);
	passes(1024, 1000000);
	clock_close(&g, now + 1000000);
	assert_int_equal(g.clock_next, GUEST_WINDOW - 1);
	g.never = true;
	g.clock_next = 0;
	clock_begin(&g);
	assert_int_equal(g.clock_next, 0);
}

// As the fast path does.
static void leaves(struct ctp_state *s, unsigned place)
{
	g.clock += 2;
	*s = (struct ctp_state){.life = CTP_SUSPENDED, .thread = g.slot, .since = g.clock, .changes = 7};
	g.window[place] = s;
}

static void test_window(void **state)
{
	(void)state;
	static struct ctp_state a, b, gone_on, moved, exact;
	passes(1024, 50);
	clock_close(&g, now += 100);
	assert_false(clock_is_open(&g));
	uint64_t from = now;
	leaves(&a, 1);
	assert_int_equal(a.since, from + 1);
	assert_true(clock_is_open(&g));
	clock_close(&g, now += 2000);
	assert_false(clock_is_open(&g));
	assert_int_equal(row.time_read, now);
	assert_int_equal(a.late, 0); // it was short
	assert_in_range(now, a.since, ctp_state_latest(&a));

	leaves(&b, 1);
	leaves(&gone_on, 2);
	gone_on.life = CTP_RUNNING;
	leaves(&moved, 3);
	moved.thread = 4;
	leaves(&exact, 4);
	exact.since = now + 50;
	clock_close(&g, now += 100000);
	assert_int_equal(a.late, 0); // that was another window
	assert_int_equal(b.late, 17);
	assert_in_range(now, b.since, ctp_state_latest(&b));
	assert_int_equal(b.changes, 7);
	assert_int_equal(b.seq & 1, 0);
	assert_int_equal(gone_on.late, 0);
	assert_int_equal(moved.late, 0);
	assert_int_equal(exact.late, 0);
	assert_int_equal(ctp_state_latest(&exact), exact.since);
	assert_int_equal(g.clock_next, GUEST_WINDOW / 2 - 1);
}

static void test_rises(void **state)
{
	(void)state;
	passes(1024, 50);
	clock_close(&g, now += 100);
	uint64_t read = row.time_read;
	clock_close(&g, read - 40); // a time of before
	assert_int_equal(row.time_read, read);
	assert_int_equal(g.clock, read - 1);
}

static void test_latest(void **state)
{
	(void)state;
	struct ctp_state s = {.since = 1001};
	assert_int_equal(ctp_state_latest(&s), 1001 + CTP_LATE_TICKS);
	ctp_state_settle(&s, 1002);
	assert_int_equal(ctp_state_latest(&s), 1001 + CTP_LATE_TICKS);
	ctp_state_settle(&s, 1000); // no reading has followed
	assert_int_equal(ctp_state_latest(&s), UINT64_MAX);
	s = (struct ctp_state){.since = 1000};
	ctp_state_settle(&s, 0);
	assert_int_equal(ctp_state_latest(&s), 1000);
	for (uint64_t ticks = 1; ticks < 1ULL << 60; ticks = ticks * 3 + 1) {
		s = (struct ctp_state){.since = 1, .late = ctp_late_for(ticks)};
		assert_true(ctp_state_latest(&s) >= 1 + ticks);
		assert_true(ctp_state_latest(&s) <= 1 + (ticks < CTP_LATE_TICKS ? CTP_LATE_TICKS : 2 * ticks));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_rate, begin),   cmocka_unit_test_setup(test_sparse, begin),
		cmocka_unit_test_setup(test_window, begin), cmocka_unit_test_setup(test_rises, begin),
		cmocka_unit_test(test_latest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

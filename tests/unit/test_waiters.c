// SPDX-License-Identifier: MIT
//
// Who waits and is in no finding: which coroutines count, how they are grouped, and in which order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/report/accounting.h"
#include "analyze/report/waiters.h"
#include "tables.h"

static struct tables t;
static struct report r;
static struct waiters w;

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	tables_fd(&t, 7, 3)->reg_epfd = 4;
	t.image.snapshot_ns = 1000;
	r = (struct report){ .world = &t.world };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	waiters_deinit(&w);
	accounting_deinit(&r);
	tables_close(&t);
	return 0;
}

static void collect(void)
{
	tables_index(&t);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(waiters_collect(&w, &r), 0);
}

static void groups_are_by_stack_and_kind(void **state)
{
	(void)state;
	tables_wait(tables_suspended(&t, 41, 5, 200), 7, 3, CTP_WAIT_REGISTERED);
	tables_wait(tables_suspended(&t, 42, 5, 100), 7, 3, CTP_WAIT_REGISTERED);
	tables_wait(tables_suspended(&t, 43, 6, 300), 7, 3, CTP_WAIT_REGISTERED);
	tables_suspended(&t, 44, 5, 50); // the same stack, but parked
	collect();
	assert_int_equal(w.n, 3);
	// the longest wait first
	assert_int_equal(w.items[0].oldest->id, 44);
	assert_int_equal(w.items[0].kind, ACCOUNT_PARKED);
	assert_int_equal(w.items[0].n, 1);
	assert_int_equal(w.items[1].oldest->id, 42);
	assert_int_equal(w.items[1].kind, ACCOUNT_HEALTHY);
	assert_int_equal(w.items[1].n, 2);
	assert_int_equal(w.items[2].oldest->id, 43);
	assert_int_equal(w.items[2].n, 1);
}

static void age_is_up_to_the_snapshot(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 400);
	collect();
	assert_int_equal(waiters_age_ns(&r, &w.items[0]), 600);
	t.image.snapshot_ns = 0; // of the process; the trace's then
	t.world.snapshot_ns = 450;
	assert_int_equal(waiters_age_ns(&r, &w.items[0]), 50);
	t.world.snapshot_ns = 300;
	assert_int_equal(waiters_age_ns(&r, &w.items[0]), 0);
}

static void others_do_not_wait(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 1)->life = CTP_FINISHED;
	tables_suspended(&t, 42, 5, 1)->life = CTP_RUNNING;
	tables_suspended(&t, 43, 5, 1)->entity = CTP_NATIVE;
	tables_suspended(&t, 44, 5, 1)->runs = 0;
	collect();
	assert_int_equal(w.n, 0);
}

static void a_wait_that_nothing_ends_is_undecided(void **state)
{
	(void)state;
	tables_wait(tables_suspended(&t, 45, 5, 1), 7, 2, CTP_WAIT_EAGAIN);  // of an older generation
	struct ctp_state *two = tables_suspended(&t, 46, 5, 1);
	tables_wait(two, 7, 3, CTP_WAIT_EAGAIN);
	tables_wait(two, 8, 1, CTP_WAIT_EAGAIN); // one of its two is not open
	collect();
	assert_int_equal(w.n, 1);
	assert_int_equal(w.items[0].kind, ACCOUNT_UNDECIDED);
	assert_int_equal(w.items[0].n, 2);
}

static void findings_are_left_out(void **state)
{
	struct verdict_case about[] = { { .id = 41, .about.image = &t.image }, { .id = 43 } };
	(void)state;
	tables_suspended(&t, 41, 5, 1);
	tables_suspended(&t, 42, 5, 2);
	tables_suspended(&t, 43, 5, 3); // the case with this id is another image's
	r.results = (struct results){ .cases = about, .ncases = 2 };
	collect();
	assert_int_equal(w.n, 1);
	assert_int_equal(w.items[0].n, 2);
	assert_int_equal(w.items[0].oldest->id, 42);
}

static void images_that_were_replaced_have_none(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 1);
	tables_index(&t);
	t.image.replaced = true;
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(waiters_collect(&w, &r), 0);
	assert_int_equal(w.n, 0);
	t.image.replaced = false;
	t.image.has_tables = false;
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(waiters_collect(&w, &r), 0);
	assert_int_equal(w.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(groups_are_by_stack_and_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(age_is_up_to_the_snapshot, setup, teardown),
		cmocka_unit_test_setup_teardown(others_do_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(a_wait_that_nothing_ends_is_undecided, setup, teardown),
		cmocka_unit_test_setup_teardown(findings_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(images_that_were_replaced_have_none, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

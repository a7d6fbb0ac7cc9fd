// SPDX-License-Identifier: MIT
//
// How many coroutines are healthy or parked: those of the tables, less those that a case is about.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/facts/facts.h"
#include "analyze/report/healthy.h"
#include "tables.h"

static struct tables t;
static struct report r;
static struct verdict_case cases[4];
static const struct pass waits = { .rule = "CTP001", .waits = true }, idle = { .rule = "CTP015", .idle = true },
			 unwell = { .rule = "CTP022", .unwell = true }, other = { .rule = "CTP020" };

// 41 and 42 wait on a descriptor that is registered, 43 and 44 are parked.
static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	tables_fd(&t, 7, 3)->reg_epfd = 4;
	tables_wait(tables_suspended(&t, 41, 5, 1), 7, 3, CTP_WAIT_REGISTERED);
	tables_wait(tables_suspended(&t, 42, 5, 1), 7, 3, CTP_WAIT_REGISTERED);
	tables_suspended(&t, 43, 6, 1);
	tables_suspended(&t, 44, 6, 1);
	tables_index(&t);
	r = (struct report){ .world = &t.world, .results = { .cases = cases } };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	r.results.cases = NULL;
	r.results.ncases = 0;
	results_deinit(&r.results);
	tables_close(&t);
	return 0;
}

static void add(const struct pass *pass, uint64_t id)
{
	cases[r.results.ncases++] = (struct verdict_case){ .pass = pass, .id = id, .about.image = &t.image };
}

static void counts_are(uint64_t healthy, uint64_t parked)
{
	assert_int_equal(healthy_count(&r), 0);
	assert_int_equal(r.healthy, healthy);
	assert_int_equal(r.parked, parked);
	assert_int_equal(r.results.nfacts, 0);
}

static void facts_are_made(bool parked)
{
	assert_int_equal(healthy_count(&r), 0);
	assert_int_equal(facts_counts(&r, parked), 0);
}

static void without_cases_all_count(void **state)
{
	(void)state;
	counts_are(2, 2);
}

static void who_is_stuck_is_not_healthy(void **state)
{
	(void)state;
	add(&waits, 41);
	counts_are(1, 2);
	add(&idle, 43);
	counts_are(1, 1);
	add(&unwell, 44);
	counts_are(1, 0);
}

static void one_with_two_cases_counts_once(void **state)
{
	(void)state;
	add(&waits, 41);
	add(&unwell, 41);
	counts_are(1, 2);
}

static void a_case_about_something_else_takes_nobody_out(void **state)
{
	(void)state;
	add(&other, 41);
	add(&waits, 99); // not in the tables any more
	counts_are(2, 2);
}

static void who_was_replaced_was_not_counted(void **state)
{
	(void)state;
	add(&waits, 41);
	t.image.replaced = true;
	counts_are(2, 2);
}

static void who_has_ended_and_is_kept_is_not_parked(void **state)
{
	(void)state;
	unsigned char rows[8] = { 0 }, *kept[] = { rows };
	rows[idmap_get(&t.image.by_id, 44)] = 1;
	r.kept = kept;
	counts_are(2, 1);
}

static void facts(void **state)
{
	(void)state;
	add(&waits, 41);
	t.world.counts.destroyed = t.world.counts.finished = 1;
	facts_are_made(true);
	assert_int_equal(r.results.nfacts, 3);
	assert_string_equal(r.results.facts[0].message, "1 coroutine waits on live descriptors: healthy");
	assert_string_equal(r.results.facts[0].rule, "INFO");
	assert_string_equal(r.results.facts[1].message, "2 coroutines are suspended without a known wait: parked");
	assert_string_equal(r.results.facts[1].rule, "CTP003");
	assert_int_equal(r.results.facts[1].count, 2);
	assert_string_equal(r.results.facts[2].message, "1 coroutine was destroyed while suspended");
}

static void the_destroyed_are_told_without_the_rule(void **state)
{
	(void)state;
	t.world.counts.destroyed = t.world.counts.finished = 1;
	facts_are_made(false);
	assert_int_equal(r.results.nfacts, 1);
	assert_string_equal(r.results.facts[0].message, "1 coroutine was destroyed while suspended");
}

// A library that tells of no end may switch away for the last time instead.
static void none_was_seen_to_end(void **state)
{
	(void)state;
	t.world.counts.destroyed = 2;
	facts_are_made(true);
	assert_string_equal(r.results.facts[r.results.nfacts - 1].message,
			    "2 coroutines were destroyed while suspended, or had ended with a last switch");
}

static void no_facts_of_nobody(void **state)
{
	(void)state;
	t.world.counts = (struct image_counts){ 0 };
	facts_are_made(true);
	assert_int_equal(r.results.nfacts, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_cases_all_count, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_stuck_is_not_healthy, setup, teardown),
		cmocka_unit_test_setup_teardown(one_with_two_cases_counts_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_case_about_something_else_takes_nobody_out, setup, teardown),
		cmocka_unit_test_setup_teardown(who_was_replaced_was_not_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_ended_and_is_kept_is_not_parked, setup, teardown),
		cmocka_unit_test_setup_teardown(facts, setup, teardown),
		cmocka_unit_test_setup_teardown(the_destroyed_are_told_without_the_rule, setup, teardown),
		cmocka_unit_test_setup_teardown(none_was_seen_to_end, setup, teardown),
		cmocka_unit_test_setup_teardown(no_facts_of_nobody, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

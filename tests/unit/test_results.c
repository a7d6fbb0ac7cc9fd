// SPDX-License-Identifier: MIT
//
// What passes add: which cases count, and the order of what a case tells.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tables.h"

static struct tables t;
static struct results r;
static const struct pass waits = { .rule = "CTP001", .waits = true }, other = { .rule = "CTP020" };

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	results_deinit(&r);
	tables_close(&t);
	return 0;
}

static struct verdict_case of(const struct pass *pass, const struct ctp_state *s, enum verdict verdict)
{
	return (struct verdict_case){ .pass = pass, .id = s->id, .proof.verdict = verdict,
				      .about = { .world = &t.world, .image = &t.image, .state = s } };
}

static void a_verdict_makes_a_case(void **state)
{
	struct verdict_case c = of(&waits, tables_suspended(&t, 41, 5, 100), VERDICT_INCONCLUSIVE);
	(void)state;
	tables_index(&t);
	assert_int_equal(results_add(&r, &c), 0);
	assert_int_equal(r.ncases, 1);
	assert_int_equal(r.cases[0].id, 41);
	c.proof.verdict = VERDICT_NONE;
	assert_int_equal(results_add(&r, &c), 0);
	assert_int_equal(r.ncases, 1);
	assert_int_equal(r.nfacts, 0);
}

// The tables are of a snapshot, and `later` shows that the coroutine has run since.
static void who_ran_after_the_snapshot_is_not_lost(void **state)
{
	struct ctp_state *s = tables_suspended(&t, 41, 5, 100), later;
	struct verdict_case lost = of(&waits, s, VERDICT_LIKELY), busy = of(&other, s, VERDICT_LIKELY);
	(void)state;
	later = *s;
	later.changes = s->changes + 1;
	t.image.later = (struct table){ .rows = (const void *)&later, .n = 1, .row_bytes = sizeof(later) };
	tables_index(&t);
	assert_int_equal(results_add(&r, &lost), 0);
	assert_int_equal(r.ncases, 0);
	assert_int_equal(r.nfacts, 0);
	assert_int_equal(results_add(&r, &busy), 0); // that it ran is nothing to a rule about something else
	assert_int_equal(r.ncases, 1);
	lost.proof.verdict = VERDICT_PROVEN; // should be impossible: it is said
	assert_int_equal(results_add(&r, &lost), 0);
	assert_int_equal(r.ncases, 1);
	assert_int_equal(r.nfacts, 1);
	assert_string_equal(r.facts[0].rule, "INFO");
	assert_non_null(strstr(r.facts[0].message, "coroutine 41 "));
	later.changes = s->changes;
	assert_int_equal(results_add(&r, &lost), 0);
	assert_int_equal(r.ncases, 2);
}

static void of_all_that_ran_one_fact_tells(void **state)
{
	(void)state;
	assert_int_equal(results_fact(&r, "INFO", 1, "before"), 0);
	for (unsigned id = 5; id < 8; id++)
		assert_int_equal(results_ran_again(&r, id), 0);
	assert_int_equal(results_ran_again(&r, 6), 0);
	assert_int_equal(r.nfacts, 2);
	assert_int_equal(r.facts[1].count, 3);
	assert_non_null(strstr(r.facts[1].message, "coroutines 5, 6, 7 seemed lost beyond doubt, and ran again all the same: "));
	for (unsigned id = 8; id < 30; id++)
		assert_int_equal(results_ran_again(&r, id), 0);
	assert_int_equal(r.facts[1].count, 25);
	assert_non_null(strstr(r.facts[1].message, ", 16, and more seemed"));
}

static void texts_live_as_long_as_the_results(void **state)
{
	const char *first = results_text(&r, "%d", 1);
	(void)state;
	for (int i = 2; i < 100; i++)
		results_text(&r, "%d", i);
	assert_string_equal(first, "1");
	assert_int_equal(r.ntexts, 99);
}

static void events_are_in_the_order_of_time(void **state)
{
	struct verdict_case c = of(&waits, tables_suspended(&t, 41, 5, 100), VERDICT_LIKELY);
	(void)state;
	tables_index(&t);
	case_event(&c, 300, 1, "third");
	case_event(&c, 100, 1, "first");
	case_event(&c, 200, 1, "second");
	case_event(&c, 0, 1, "not known when");
	case_event(&c, 200, 2, "after what came at the same time");
	assert_int_equal(c.nevents, 4);
	assert_string_equal(c.events[0].what, "first");
	assert_string_equal(c.events[1].what, "second");
	assert_string_equal(c.events[2].what, "after what came at the same time");
	assert_string_equal(c.events[3].what, "third");
	for (unsigned i = 0; i < 2 * CASE_EVENTS; i++)
		case_event(&c, 400, 1, "more");
	assert_int_equal(c.nevents, CASE_EVENTS);
}

static void how_long_it_was_suspended(void **state)
{
	struct ctp_state *s = tables_suspended(&t, 41, 5, 100);
	struct verdict_case c = of(&waits, s, VERDICT_LIKELY);
	(void)state;
	t.world.snapshot_ns = 900;
	tables_index(&t);
	assert_int_equal(case_suspended_ns(&c), 800);
	t.image.snapshot_ns = 600; // of its own process
	assert_int_equal(case_suspended_ns(&c), 500);
	t.image.snapshot_ns = 50;
	assert_int_equal(case_suspended_ns(&c), 0);
	t.image.snapshot_ns = 600;
	s->life = CTP_RUNNING;
	assert_int_equal(case_suspended_ns(&c), 0);
	c.about.state = NULL;
	assert_int_equal(case_suspended_ns(&c), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_verdict_makes_a_case),
		TEST(who_ran_after_the_snapshot_is_not_lost),
		TEST(of_all_that_ran_one_fact_tells),
		TEST(texts_live_as_long_as_the_results),
		TEST(events_are_in_the_order_of_time),
		TEST(how_long_it_was_suspended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

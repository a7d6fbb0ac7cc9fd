// SPDX-License-Identifier: MIT
//
// CTP015 of parked coroutines: how far a circle of hubs goes, by what else is known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/pass/cycle.h"
#include "tables.h"

static struct tables t;
static struct cycle c;
static struct results out;
static struct ctp_state *two[2];
static struct witness *seen;

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	struct set_looks *l = &t.image.set_looks;
	l->looked = true;
	l->circles = calloc(1, sizeof(*l->circles));
	l->waits = calloc(2, sizeof(*l->waits));
	seen = t.image.witness.items = calloc(2, sizeof(*seen));
	for (size_t i = 0; i < 2; i++) {
		two[i] = tables_suspended(&t, 4 + i, 5, 1000);
		two[i]->changes = 6;
		l->waits[i] = (struct set_circle_wait){4 + i, 6, 0x8000 + i, NULL};
		seen[i] = (struct witness){.rule = RULE_PARKED, .coroutine = 4 + i, .fd = -1, .older = IDMAP_NONE};
		idmap_set(&t.image.witness.last, 4 + i, (uint32_t)i);
	}
	l->waits[1].name = strdup("tables+0x18");
	*l->circles = (struct set_circle){true, 0, 2};
	l->ncircles = 1;
	l->nwaits = t.image.witness.n = 2;
	c = (struct cycle){.pass = pass_find("CTP015"), .world = &t.world, .image = &t.image};
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static void quiet(void)
{
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_TRUE;
}

static void closed(void)
{
	seen[0].items[PROOF_P6A].holds = seen[1].items[PROOF_P6A].holds = HOLDS_TRUE;
}

static void handles_only(void)
{
	t.image.set_looks.circles->firm = false;
}

static enum verdict verdict(void)
{
	tables_index(&t);
	assert_int_equal(cycle_locks(&c, &out), 0);
	assert_true(out.ncases == 0 || out.ncases == 2);
	return out.ncases ? out.cases[0].proof.verdict : VERDICT_NONE;
}

static void a_circle(void **state)
{
	(void)state;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	assert_string_equal(out.cases[0].message, "co 4 -> 0x8000 -> co 5 -> tables+0x18 -> back");
	assert_int_equal(out.cases[1].id, 5);
	assert_int_equal(out.cases[1].actor.id, 5); // as the first one has it: one finding
}

static void in_a_quiet_program(void **state)
{
	(void)state;
	quiet();
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void nothing_leads_to_them(void **state)
{
	(void)state;
	closed();
	assert_int_equal(verdict(), VERDICT_LIKELY);
	assert_string_equal(out.cases[0].proof.items[PROOF_P6A].text, "nothing outside these 2 leads to any of them");
}

static void by_containers(void **state)
{
	(void)state;
	t.image.set_looks.circles->container = true;
	quiet();
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void by_containers_and_nothing_leads_to_them(void **state)
{
	(void)state;
	t.image.set_looks.circles->container = true;
	closed();
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void something_leads_to_one(void **state)
{
	(void)state;
	closed();
	seen[1].items[PROOF_P6A].holds = HOLDS_FALSE;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void never_more_than_likely(void **state)
{
	(void)state;
	closed();
	quiet();
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void a_gap(void **state)
{
	(void)state;
	closed();
	t.image.ext.gaps = ~0u;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void handles_only_in_a_quiet_program(void **state)
{
	(void)state;
	handles_only();
	quiet();
	assert_int_equal(verdict(), VERDICT_LIKELY);
	assert_string_equal(out.cases[0].message, "co 4, co 5, by 0x8000 and tables+0x18");
}

// Then they may be partners that speak to each other.
static void handles_only_in_a_quiet_program_where_one_was_resumed(void **state)
{
	(void)state;
	handles_only();
	quiet();
	two[0]->flags |= CTP_STATE_AGAIN;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void nothing_but_the_end_can_wake_it(void **state)
{
	(void)state;
	t.image.set_looks.sleeps = true;
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void handles_only_to_which_nothing_leads(void **state)
{
	(void)state;
	handles_only();
	closed();
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void handles_only_where_none_was_resumed(void **state)
{
	(void)state;
	handles_only();
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void handles_only_where_one_was_resumed(void **state)
{
	(void)state;
	handles_only();
	two[0]->flags |= CTP_STATE_AGAIN;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void one_has_run_since(void **state)
{
	(void)state;
	two[1]->changes += 2;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void one_waits_for_a_descriptor(void **state)
{
	(void)state;
	tables_wait(two[1], 7, 1, CTP_WAIT_EAGAIN);
	assert_int_equal(verdict(), VERDICT_NONE);
}

static enum verdict alone(void)
{
	t.image.set_looks.circles->n = 1;
	tables_index(&t);
	assert_int_equal(cycle_locks(&c, &out), 0);
	return out.ncases ? out.cases[0].proof.verdict : VERDICT_NONE;
}

static void one_that_waits_for_itself(void **state)
{
	(void)state;
	closed();
	assert_int_equal(alone(), VERDICT_LIKELY);
	assert_int_equal(out.ncases, 1);
	assert_string_equal(out.cases[0].message, "co 4 -> 0x8000 -> back");
	assert_string_equal(out.cases[0].claim, "waits for itself");
}

static void one_at_what_others_know(void **state)
{
	(void)state;
	assert_int_equal(alone(), VERDICT_NONE);
}

static void one_in_a_quiet_program(void **state)
{
	(void)state;
	quiet();
	assert_int_equal(alone(), VERDICT_SUSPECT);
}

static void one_where_somebody_was_resumed(void **state)
{
	(void)state;
	quiet();
	two[0]->flags |= CTP_STATE_AGAIN;
	assert_int_equal(alone(), VERDICT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_circle, begin, end),
		cmocka_unit_test_setup_teardown(one_that_waits_for_itself, begin, end),
		cmocka_unit_test_setup_teardown(one_at_what_others_know, begin, end),
		cmocka_unit_test_setup_teardown(one_in_a_quiet_program, begin, end),
		cmocka_unit_test_setup_teardown(one_where_somebody_was_resumed, begin, end),
		cmocka_unit_test_setup_teardown(in_a_quiet_program, begin, end),
		cmocka_unit_test_setup_teardown(nothing_leads_to_them, begin, end),
		cmocka_unit_test_setup_teardown(by_containers, begin, end),
		cmocka_unit_test_setup_teardown(by_containers_and_nothing_leads_to_them, begin, end),
		cmocka_unit_test_setup_teardown(something_leads_to_one, begin, end),
		cmocka_unit_test_setup_teardown(never_more_than_likely, begin, end),
		cmocka_unit_test_setup_teardown(a_gap, begin, end),
		cmocka_unit_test_setup_teardown(handles_only_in_a_quiet_program, begin, end),
		cmocka_unit_test_setup_teardown(handles_only_in_a_quiet_program_where_one_was_resumed, begin, end),
		cmocka_unit_test_setup_teardown(nothing_but_the_end_can_wake_it, begin, end),
		cmocka_unit_test_setup_teardown(handles_only_to_which_nothing_leads, begin, end),
		cmocka_unit_test_setup_teardown(handles_only_where_none_was_resumed, begin, end),
		cmocka_unit_test_setup_teardown(handles_only_where_one_was_resumed, begin, end),
		cmocka_unit_test_setup_teardown(one_has_run_since, begin, end),
		cmocka_unit_test_setup_teardown(one_waits_for_a_descriptor, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

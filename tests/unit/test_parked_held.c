// SPDX-License-Identifier: MIT
//
// CTP003 of what a coroutine holds that has ended: how far it goes, by what else is known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/parked/parked_held.h"
#include "analyze/parked/parked_idle.h"
#include "tables.h"

static struct tables t;
static struct results out;
static struct ctp_state *two[2];
static struct witness *seen;

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	struct set_looks *l = &t.image.set_looks;
	l->looked = true;
	l->held = calloc(1, sizeof(*l->held));
	l->waits = calloc(2, sizeof(*l->waits));
	seen = t.image.witness.items = calloc(2, sizeof(*seen));
	for (size_t i = 0; i < 2; i++) {
		two[i] = tables_suspended(&t, 4 + i, 5, 1000);
		two[i]->changes = 6;
		l->waits[i] = (struct set_circle_wait){4 + i, 6, 0x8000, strdup("journal")};
		seen[i] = (struct witness){
			.rule = RULE_PARKED, .coroutine = 4 + i, .fd = -1, .older = IDMAP_NONE};
		idmap_set(&t.image.witness.last, 4 + i, (uint32_t)i);
	}
	*l->held = (struct set_held){.by = 9, .n = 2};
	l->nheld = 1;
	l->nwaits = t.image.witness.n = 2;
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static enum verdict verdict(void)
{
	tables_index(&t);
	assert_int_equal(parked_held(pass_find("CTP003"), &t.world, &t.image, &out, 0), 0);
	return out.ncases ? out.cases[0].proof.verdict : VERDICT_NONE;
}

static void closed(void)
{
	seen[0].items[PROOF_P6A].holds = seen[1].items[PROOF_P6A].holds = HOLDS_TRUE;
}

static void what_others_know_is_a_fact(void **state)
{
	(void)state;
	assert_int_equal(verdict(), VERDICT_NONE);
	assert_int_equal(out.nfacts, 1);
	assert_string_equal(
		out.facts[0].message,
		"2 coroutines are queued at journal, which holds the handle of coroutine 9, which has ended");
}

static void nothing_leads_to_them(void **state)
{
	(void)state;
	closed();
	assert_int_equal(verdict(), VERDICT_LIKELY);
	assert_int_equal(out.ncases, 2);
	assert_int_equal(out.cases[1].actor.id, 9);
	assert_string_equal(out.cases[0].message, "coroutine 9 holds it, and has ended");
}

static void something_leads_to_one(void **state)
{
	(void)state;
	closed();
	seen[1].items[PROOF_P6A].holds = HOLDS_OPEN;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void in_a_quiet_program(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_TRUE;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void at_a_mutex(void **state)
{
	(void)state;
	t.image.set_looks.held->mutex = true;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	closed();
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void while_main_waits_too(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_TRUE;
	t.image.set_looks.parked.v = calloc(1, sizeof(struct set_parked));
	t.image.set_looks.parked.n = 1;
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

// Both are where work may have come from; a thread that runs coroutines, and a row that brought nothing, are
// not.
static void who_may_be_idle(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_TRUE;
	t.image.set_looks.parked.v = calloc(1, sizeof(struct set_parked));
	t.image.set_looks.parked.n = 1;
	struct ctp_fd *jobs = tables_fd(&t, 7, 1);
	jobs->reg_epfd = 4;
	jobs->reg_events = 1;
	struct ctp_thread *thread = tables_thread(&t, 0, 1);
	thread->switches = 8;
	jobs->event_time = 900;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	assert_true(parked_idle(&t.image));
	jobs->event_time = 0;
	assert_false(parked_idle(&t.image));
	jobs->event_time = 900;
	jobs->reg_events = 1u << 30; // it has fired
	assert_false(parked_idle(&t.image));
	thread->switches = 0;
	assert_true(parked_idle(&t.image));
	thread->life = CTP_THREAD_DEAD;
	assert_false(parked_idle(&t.image));
}

static void a_gap(void **state)
{
	(void)state;
	closed();
	t.image.ext.gaps = ~0u;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void one_has_run_since(void **state)
{
	(void)state;
	closed();
	two[0]->changes += 2;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	assert_int_equal(out.ncases, 1);
	assert_int_equal(out.cases[0].id, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_others_know_is_a_fact, begin, end),
		cmocka_unit_test_setup_teardown(nothing_leads_to_them, begin, end),
		cmocka_unit_test_setup_teardown(something_leads_to_one, begin, end),
		cmocka_unit_test_setup_teardown(in_a_quiet_program, begin, end),
		cmocka_unit_test_setup_teardown(at_a_mutex, begin, end),
		cmocka_unit_test_setup_teardown(while_main_waits_too, begin, end),
		cmocka_unit_test_setup_teardown(who_may_be_idle, begin, end),
		cmocka_unit_test_setup_teardown(a_gap, begin, end),
		cmocka_unit_test_setup_teardown(one_has_run_since, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
